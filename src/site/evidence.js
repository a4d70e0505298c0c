/**
 * Proves a file of evidence, the same in Node and in the browser: a settled month with the files that lead from it to a
 * signature of the log. It needs the file alone.
 */

/** A file is no evidence, or something in it does not fit. The message names the place. */
export class EvidenceError extends Error {}

/**
 * @typedef {object} Proof
 * @property {string} sentence the figure in words
 * @property {ReadonlyMap<string, string>} record the month's record by name, as published; `none`: there is no value
 * @property {readonly { link: string, isProven: boolean, text: string }[]} steps
 * @property {string | null} fingerprint of the key that signed: SHA-256 (hex) of its SubjectPublicKeyInfo; null: unsigned,
 *   or this browser cannot tell
 * @property {string} permission what the publisher allows, as the file says
 */

const BYTES_MAX = 32_000_000;
const FILES_MAX = 10_000;
const KEYS_MAX = 100;
/** Of the script in the file, which the client writes (clients/python). */
const VERIFY_SHA256 = "856d09adbd9e53dc816f4b6cc2e659d3401d4820220e63f4986596e36ebfcb74";

const FIGURE = "figure.txt";
const SUMS = "SHA256SUMS";
const KEYS = "keys.pem";
const PERMISSION = "permission.txt";
const SCRIPT = "verify.sh";
const SETTLEMENT = /^settlements\/(contracts|indices)\/([^/]+)\.json$/;
const ENTRY = /^log\/(\d{10})\.json$/;

/**
 * Throws EvidenceError unless each link holds.
 *
 * @param {Uint8Array} zip
 * @returns {Promise<Proof>}
 */
export async function proveEvidence(zip) {
  const files = await filesIn(zip);
  const known = new Set([FIGURE, SUMS, KEYS, PERMISSION, SCRIPT]);
  const stray = [...files.keys()].find(
    (name) => !known.has(name) && !SETTLEMENT.test(name) && !ENTRY.test(name),
  );
  if (stray !== undefined) throw new EvidenceError(`${stray} belongs to no proof`);
  const [settlement, ...others] = [...files.keys()].filter((name) => SETTLEMENT.test(name));
  if (settlement === undefined || others.length > 0) {
    throw new EvidenceError(
      `expected one settlement file, found ${others.length + (settlement === undefined ? 0 : 1)}`,
    );
  }
  const { sentence, record } = figureIn(files, settlement);
  /** @type {{ link: string, isProven: boolean, text: string }[]} */
  const steps = [{ link: "figure", isProven: true, text: `It stands in ${settlement}` }];
  const tell = (/** @type {string} */ link, /** @type {string} */ text, isProven = true) =>
    void steps.push({ link, isProven, text });

  const digest = await sha256Of(bytesOf(files, settlement));
  if (!textOf(files, SUMS).split("\n").includes(`${digest}  ${settlement}`)) {
    throw new EvidenceError(`${SUMS} names another ${settlement}`);
  }
  tell("sums", `${settlement} is a file of the tier, by its ${SUMS}`);

  const last = await chained(files, record, tell);
  const fingerprint = await signerOf(files, last, tell);
  if ((await sha256Of(bytesOf(files, SCRIPT))) !== VERIFY_SHA256) {
    throw new EvidenceError(`${SCRIPT} is not the script of chipboard: do not run it`);
  }
  tell(
    "permission",
    `${PERMISSION} is what the maker of this file says: compare it with the publisher's plans`,
    false,
  );
  return { sentence, record, steps, fingerprint, permission: textOf(files, PERMISSION).trim() };
}

/**
 * The figure in words, and its record. Throws EvidenceError unless both are as the settlement file has them.
 *
 * @param {ReadonlyMap<string, Uint8Array>} files
 * @param {string} settlement
 */
function figureIn(files, settlement) {
  const told = textOf(files, FIGURE);
  const month = /^month: (.+)$/m.exec(told)?.[1] ?? "";
  const publication = /^publication: (\d+)$/m.exec(told)?.[1] ?? "";
  const { kind, id, attribution, settlements } = decimalsIn(textOf(files, settlement), settlement);
  const own = Array.isArray(settlements) ? settlements.find((each) => each?.month === month) : null;
  if (own == null) throw new EvidenceError(`${settlement} has no month ${month}`);
  const record = new Map(
    Object.entries({ kind, id, ...own, publication, attribution }).map(([name, value]) => [
      name,
      String(value ?? "none"),
    ]),
  );
  const what = `${kind} ${id} in ${month}`;
  const sentence =
    own.average === null
      ? `There is no settled average of ${what}.`
      : `The settled average of ${what} is ${own.average} ${own.unit ?? "points"}.`;
  const lines = [...record].map(([name, value]) => `${name}: ${value}`);
  if (told !== [sentence, "", ...lines, ""].join("\n")) {
    throw new EvidenceError(`${FIGURE} differs from ${settlement}`);
  }
  return { sentence, record };
}

/**
 * The last entry. The first names SUMS, and each names the one before.
 *
 * @param {ReadonlyMap<string, Uint8Array>} files
 * @param {ReadonlyMap<string, string>} record
 * @param {(link: string, text: string) => void} tell
 */
async function chained(files, record, tell) {
  const names = [...files.keys()].filter((name) => ENTRY.test(name)).sort();
  const numbers = names.map((name) => Number(ENTRY.exec(name)?.[1]));
  const [first = 0] = numbers;
  if (String(first) !== record.get("publication")) {
    throw new EvidenceError(
      `the first entry is ${first}, and ${FIGURE} names ${record.get("publication")}`,
    );
  }
  let link = await sha256Of(bytesOf(files, SUMS));
  let last = "";
  for (const [at, name] of names.entries()) {
    const entry = decimalsIn(textOf(files, name), name);
    if (entry.number !== String(numbers[at]) || numbers[at] !== first + at) {
      throw new EvidenceError(`${name} is not entry ${first + at} of the log`);
    }
    if ((at === 0 ? entry.roots?.pro : entry.previous) !== link) {
      const named = at === 0 ? `another ${SUMS}` : "another entry before it";
      throw new EvidenceError(`${name} names ${named}`);
    }
    link = await sha256Of(bytesOf(files, name));
    last = name;
  }
  tell("root", `${SUMS} is the one that entry ${first} of the log names`);
  if (names.length > 1) tell("log", `Entries ${first} to ${numbers.at(-1)} follow each other`);
  return last;
}

const SIGNATURE = /,"signature":"([^"]*)"\}\n$/;

/**
 * The fingerprint of the key that signed the entry.
 *
 * @param {ReadonlyMap<string, Uint8Array>} files
 * @param {string} name
 * @param {(link: string, text: string, isProven?: boolean) => void} tell
 */
async function signerOf(files, name, tell) {
  const text = textOf(files, name);
  const signature = SIGNATURE.exec(text)?.[1];
  if (signature === undefined) {
    tell("signature", "The log is not signed", false);
    return null;
  }
  const digest = await crypto.subtle.digest("SHA-256", encoded(text.replace(SIGNATURE, "}\n")));
  const message = new Uint8Array([...encoded("chipboard log v2\n"), ...new Uint8Array(digest)]);
  for (const der of keysIn(textOf(files, KEYS))) {
    let key;
    try {
      key = await crypto.subtle.importKey("spki", der, "Ed25519", true, ["verify"]);
    } catch (error) {
      if (!(error instanceof DOMException) || error.name !== "NotSupportedError") {
        throw new EvidenceError(`${KEYS} holds a block that is no Ed25519 key`);
      }
      tell("signature", `This browser cannot check Ed25519: run sh ${SCRIPT}`, false);
      return null;
    }
    if (await crypto.subtle.verify("Ed25519", key, decoded64(signature, name), message)) {
      const fingerprint = await sha256Of(der);
      tell(
        "signature",
        `${name} is signed by the key ${fingerprint}: compare it with one that the publisher told you elsewhere`,
      );
      return fingerprint;
    }
  }
  throw new EvidenceError(`No key of ${KEYS} has signed ${name}`);
}

/** The keys in DER. @param {string} pem */
function keysIn(pem) {
  const blocks = pem.match(/-----BEGIN PUBLIC KEY-----[^-]*-----END PUBLIC KEY-----/g) ?? [];
  if (blocks.length > KEYS_MAX) throw new EvidenceError(`${KEYS} has more than ${KEYS_MAX} keys`);
  return blocks.map((block) => decoded64(block.replaceAll(/-----[^-]*-----|\s/g, ""), KEYS));
}

/** @param {string} text @param {string} where */
function decoded64(text, where) {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    throw new EvidenceError(`${where} has no Base64 where it should`);
  }
}

/**
 * JSON whose numbers stay as they were written.
 *
 * @param {string} text
 * @param {string} where
 * @returns {Record<string, any>}
 */
function decimalsIn(text, where) {
  try {
    const read =
      /** @type {(text: string, revive: (name: string, value: unknown, context?: { source?: string }) => unknown) => unknown} */ (
        JSON.parse
      );
    const value = read(text, (_, each, context) =>
      typeof each === "number" ? (context?.source ?? String(each)) : each,
    );
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Told below.
  }
  throw new EvidenceError(`${where} is no JSON object`);
}

const encoded = (/** @type {string} */ text) => new TextEncoder().encode(text);

/** @param {ReadonlyMap<string, Uint8Array>} files @param {string} name */
function bytesOf(files, name) {
  const bytes = files.get(name);
  if (bytes === undefined) throw new EvidenceError(`${name} is missing`);
  return bytes;
}

/** @param {ReadonlyMap<string, Uint8Array>} files @param {string} name */
function textOf(files, name) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytesOf(files, name));
  } catch (error) {
    if (error instanceof EvidenceError) throw error;
    throw new EvidenceError(`${name} is no text in UTF-8`);
  }
}

/** In hex. @param {Uint8Array} bytes */
async function sha256Of(bytes) {
  const digest = await crypto.subtle.digest(
    "SHA-256",
    /** @type {Uint8Array<ArrayBuffer>} */ (bytes),
  );
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Signatures and sizes of the records of a zip (ISO/IEC 21320-1), little-endian. */
const END = { signature: 0x06054b50, bytes: 22, commentMax: 65_535 };
const CENTRAL = { signature: 0x02014b50, bytes: 46 };
const LOCAL = { signature: 0x04034b50, bytes: 30 };
const STORED = 0;
const DEFLATED = 8;

/**
 * The files of a zip by name. Those that are folders are left out.
 *
 * @param {Uint8Array} zip
 */
async function filesIn(zip) {
  if (zip.length > BYTES_MAX) throw new EvidenceError(`more than ${BYTES_MAX} bytes`);
  const view = new DataView(zip.buffer, zip.byteOffset, zip.byteLength);
  /** @type {Map<string, Uint8Array>} */
  const files = new Map();
  try {
    let end = zip.length - END.bytes;
    while (end >= 0 && view.getUint32(end, true) !== END.signature) end -= 1;
    if (end < 0 || end < zip.length - END.bytes - END.commentMax)
      throw new EvidenceError("it is no zip");
    const count = view.getUint16(end + 10, true);
    if (count > FILES_MAX) throw new EvidenceError(`more than ${FILES_MAX} files`);
    let at = view.getUint32(end + 16, true);
    let left = BYTES_MAX;
    for (let file = 0; file < count; file += 1) {
      if (view.getUint32(at, true) !== CENTRAL.signature)
        throw new EvidenceError("its list of files is broken");
      const method = view.getUint16(at + 10, true);
      const [packed, bytes] = [view.getUint32(at + 20, true), view.getUint32(at + 24, true)];
      const [nameBytes, extra, comment] = [28, 30, 32].map((place) =>
        view.getUint16(at + place, true),
      );
      const local = view.getUint32(at + 42, true);
      const nameAt = (/** @type {number} */ place) =>
        new TextDecoder().decode(zip.subarray(place, place + (nameBytes ?? 0)));
      const name = nameAt(at + CENTRAL.bytes);
      at += CENTRAL.bytes + (nameBytes ?? 0) + (extra ?? 0) + (comment ?? 0);
      if (name.endsWith("/")) continue;
      if (view.getUint32(local, true) !== LOCAL.signature)
        throw new EvidenceError(`${name} is not where the list of files says`);
      // Some programs unpack by the list, others by the names before the contents.
      if (view.getUint16(local + 26, true) !== nameBytes || nameAt(local + LOCAL.bytes) !== name)
        throw new EvidenceError(`${name} has another name before its content`);
      const start =
        local + LOCAL.bytes + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
      left -= bytes;
      if (left < 0 || start + packed > zip.length || files.has(name))
        throw new EvidenceError(`${name} stands twice, or is cut off or too large`);
      const content = zip.subarray(start, start + packed);
      files.set(name, await unpacked(content, method, bytes, name));
    }
  } catch (error) {
    if (error instanceof RangeError) throw new EvidenceError("it is cut off, or no zip");
    throw error;
  }
  return files;
}

/**
 * @param {Uint8Array} content
 * @param {number} method
 * @param {number} bytes
 * @param {string} name
 */
async function unpacked(content, method, bytes, name) {
  if (method === STORED && content.length === bytes) return content;
  if (method !== DEFLATED)
    throw new EvidenceError(`${name} is packed in a way that is not read here: pack it anew`);
  const stream = new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (content)])
    .stream()
    .pipeThrough(new DecompressionStream("deflate-raw"));
  const plain = new Uint8Array(bytes);
  let at = 0;
  try {
    const reader = stream.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      plain.set(value, at);
      at += value.length;
    }
  } catch {
    // Damaged, or longer than it should be.
    at = -1;
  }
  if (at !== bytes) throw new EvidenceError(`${name} cannot be unpacked`);
  return plain;
}
