/** Node as a platform. */
import { nodePlatform } from "../../src/hosts/platform.ts";
import { describePlatform } from "./platform.contract.ts";

describePlatform("Node", nodePlatform);
