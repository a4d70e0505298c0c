/** Reads JSON (an array of objects) and NDJSON (an object per line) as a stream. */
import { MAX_ROW_CHARACTERS, ROW_TOO_LONG } from "./text.ts";

/** A number with its digits as written: floating point would change them. */
class NumberText {
  readonly digits: string;
  constructor(digits: string) {
    this.digits = digits;
  }
  /** Lets messages show a whole array or object. */
  toJSON(): number {
    return Number(this.digits);
  }
}

/** The fields of an object. `cellText` reads the values; JSON.stringify shows them in messages. */
export type Fields = Readonly<Record<string, unknown>>;

/** Receives the fields of an object and its position. */
type TakeFields = (fields: Fields, position: number) => void;

/** Receives a fault; position null means the whole text. */
type TakeFault = (finding: string, position: number | null) => void;

/** Reads an array of objects; positions are indices from 0. Stops at the first fault. */
export async function readJson(
  chunks: AsyncIterable<string>,
  take: TakeFields,
  fault: TakeFault,
): Promise<void> {
  const items = new ArrayItems(take, fault);
  for await (const chunk of chunks) {
    if (!items.read(chunk)) return;
  }
  items.end();
}

const SPACE = /^[ \t\n\r]*$/;

/** Cuts the text of an array into its items. Holds the text of at most one item. */
class ArrayItems {
  readonly #take: TakeFields;
  readonly #fault: TakeFault;
  #place: "before" | "within" | "after" = "before";
  /** How many arrays and objects are open within the item. */
  #depth = 0;
  #isQuoted = false;
  #isEscaped = false;
  /** The part of the item in earlier chunks. */
  #item = "";
  #index = 0;

  constructor(take: TakeFields, fault: TakeFault) {
    this.#take = take;
    this.#fault = fault;
  }

  /** Returns false, after a complaint, if the text is not an array of objects. */
  read(chunk: string): boolean {
    let from = 0;
    if (this.#place === "before") {
      const start = /[^ \t\n\r]/.exec(chunk);
      if (start === null) return true;
      if (start[0] !== "[") {
        this.#fault("expected an array of objects", null);
        return false;
      }
      this.#place = "within";
      from = start.index + 1;
    }
    while (this.#place === "within") {
      const end = this.#endOfItem(chunk, from);
      this.#item += chunk.slice(from, end);
      if (this.#item.length > MAX_ROW_CHARACTERS) {
        this.#fault(ROW_TOO_LONG, this.#index);
        return false;
      }
      if (end === chunk.length) return true;
      if (!this.#endItem(chunk[end] === "]")) return false;
      from = end + 1;
    }
    if (SPACE.test(chunk.slice(from))) return true;
    this.#fault("not JSON: text after the array", null);
    return false;
  }

  end(): void {
    if (this.#place === "after") return;
    this.#fault("not JSON: ends before the array is closed", null);
  }

  /** The index of the comma or bracket after the item; the chunk's length if the item goes on. */
  #endOfItem(chunk: string, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      const character = chunk[at];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (character === '"') this.#isQuoted = !this.#isQuoted;
      else if (this.#isQuoted) this.#isEscaped = character === "\\";
      else if (character === "{" || character === "[") this.#depth += 1;
      else if (this.#depth <= 0 && (character === "," || character === "]")) return at;
      else if (character === "}" || character === "]") this.#depth -= 1;
    }
    return chunk.length;
  }

  /** Returns false if the item is not JSON: the rest cannot be trusted. */
  #endItem(isLast: boolean): boolean {
    const [text, index] = [this.#item, this.#index];
    this.#item = "";
    this.#index += 1;
    if (isLast) this.#place = "after";
    if (isLast && index === 0 && SPACE.test(text)) return true;
    return takeText(text, index, this.#take, this.#fault);
  }
}

/** Reads an object per line; positions are line numbers from 1, empty lines included. */
export async function readNdjson(
  chunks: AsyncIterable<string>,
  take: TakeFields,
  fault: TakeFault,
): Promise<void> {
  let line = 0;
  const read = (text: string): void => {
    line += 1;
    if (text.length > MAX_ROW_CHARACTERS) fault(ROW_TOO_LONG, line);
    else if (text.trim() !== "") takeText(text, line, take, fault);
  };
  let rest = "";
  for await (const chunk of chunks) {
    const lines = chunk.split("\n");
    lines[0] = rest + (lines[0] as string);
    rest = lines.pop() as string;
    lines.forEach(read);
    // The line may never end, so it is not kept.
    if (rest.length > MAX_ROW_CHARACTERS) break;
  }
  read(rest);
}

/** Parses the text and passes its object to `take`. Returns false if the text is not JSON. */
function takeText(text: string, position: number, take: TakeFields, fault: TakeFault): boolean {
  const value = parseExactly(text);
  if (value instanceof Error) {
    fault(value.message, position);
    return false;
  }
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (isObject && !(value instanceof NumberText)) take(value as Fields, position);
  else fault("expected an object", position);
  return true;
}

/** The value, or an Error with the reason why the text is not JSON. */
function parseExactly(text: string): unknown {
  try {
    return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
      typeof value === "number" ? new NumberText(context?.source ?? String(value)) : value,
    );
  } catch (error) {
    if (error instanceof SyntaxError) return new Error(`not JSON: ${reasonOf(error)}`);
    // Parsing recurses with each nested value and can exceed the stack.
    if (error instanceof RangeError) return new Error("nests too deep, expected objects of text");
    throw error;
  }
}

/** V8's reason, unless it quotes the text: that text may be secret. */
const reasonOf = ({ message }: SyntaxError): string =>
  message.endsWith("is not valid JSON")
    ? "an unexpected character"
    : message.replace(/ \(line .*$/, "");

/** The text of a cell that is not null; null for arrays and objects, which cannot be cells. */
export function cellText(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  return value instanceof NumberText ? plainDigits(value.digits) : null;
}

/** Turns `1e-05` into `0.00001`, exactly: JSON writers use exponents for small numbers. */
function plainDigits(digits: string): string {
  const parts = /^(-?)(\d+)(?:\.(\d+))?[eE]([+-]?\d{1,3})$/.exec(digits);
  if (parts === null) return digits;
  const [, sign, whole = "", fraction = "", exponent] = parts;
  const point = whole.length + Number(exponent);
  const all = (whole + fraction).padStart(
    whole.length + fraction.length - Math.min(0, point - 1),
    "0",
  );
  const at = Math.max(point, 1);
  const padded = all.padEnd(at, "0");
  const decimals = padded.slice(at).replace(/0+$/, "");
  return `${sign}${padded.slice(0, at).replace(/^0+(?=\d)/, "")}${decimals === "" ? "" : `.${decimals}`}`;
}
