/**
 * What a peer serves: chipboard's own answer, in a folder that the peer gets when it starts.
 *
 *   recipe.json           path, key, status and header fields
 *   prices.json.gz        the body as it was sent
 *   prices.json           the same, plain
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { repeatable, type Answer } from "./raw-answer.ts";

export const BODY_FILE = "prices.json";

export interface Recipe {
  readonly path: string;
  readonly key: string;
  readonly status: number;
  readonly headers: Answer["headers"];
  readonly body: Buffer;
}

/** Writes an answer for the peers. If it has a body, the body must be coded with gzip. */
export function writeRecipe(folder: string, path: string, key: string, answer: Answer): void {
  const { status, body } = answer;
  const recipe = { path, key, status, headers: repeatable(answer) };
  writeFileSync(join(folder, "recipe.json"), JSON.stringify(recipe));
  writeFileSync(join(folder, `${BODY_FILE}.gz`), body);
  if (body.length > 0) writeFileSync(join(folder, BODY_FILE), gunzipSync(body));
}

export function readRecipe(folder: string): Recipe {
  const recipe = JSON.parse(readFileSync(join(folder, "recipe.json"), "utf8")) as Recipe;
  return { ...recipe, body: readFileSync(join(folder, `${BODY_FILE}.gz`)) };
}
