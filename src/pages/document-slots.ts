/** The slots of the documents that src/docs makes. A service fills them before it sends a document. */

/** The contracts of the recorded answers. Requests name them while the served market has too few of its own. */
export const RECORDED_CONTRACTS = {
  "contract-1": "ddr5-16gb",
  "contract-2": "tlc-1tb",
  "contract-3": "n3-wafer",
} as const;

/** `{{origin}}` is the slot with the name `origin`. */
export const SLOT_NAMES = [
  /** The address of the service without a slash at its end, `https://host/prefix`. Commands name it. */
  "origin",
  /** The same, or nothing if only the socket's address is known: the start of addresses in recorded refusals. */
  "root",
  /** The same, or `/`: the server of the OpenAPI document. */
  "server",
  /** `email` or `url`, and that address: whom readers ask. */
  "contact-kind",
  "contact",
  /** The address of the terms. */
  "terms",
  /** The publisher's permission to show an evidence file to others. */
  "evidence",
  /** Contracts of the served market, in requests. */
  ...(Object.keys(RECORDED_CONTRACTS) as (keyof typeof RECORDED_CONTRACTS)[]),
  /** Levels above and below the free one of the first of them, for the examples of alerts. */
  "above",
  "below",
  /** The limits that the served snapshot was published with. */
  "max-move",
  "max-index-move",
  "max-board-move",
  "min-coverage",
  "max-unchanged",
  "max-gap",
  "max-carry-days",
  /** How late a session may be before it is overdue. */
  "grace-minutes",
] as const;

export type SlotName = (typeof SLOT_NAMES)[number];
export type SlotValues = Readonly<Record<SlotName, string>>;

export const slotOf = (name: SlotName): string => `{{${name}}}`;

const SLOT = /\{\{([a-z]+(?:-[a-z0-9]+)*)\}\}/g;

/** Fills all slots of a text. `coded` makes a value fit the text, as HTML. Throws for a slot that has no value. */
export const fillSlots = (
  text: string,
  values: SlotValues,
  coded: (value: string) => string = String,
): string =>
  text.replaceAll(SLOT, (slot, name: SlotName) => {
    if (!SLOT_NAMES.includes(name)) throw new Error(`No value fills the slot ${slot}`);
    return coded(values[name]);
  });
