/** A page without figures of a tier: only the key field. */
import { withKey } from "./key.js";

await withKey(() => {});
