/**
 * The state in objects: one with the registry, one with the calls of each account, and 64 with the calls of addresses.
 * Each does one operation after the other, and has written it before it answers. A host of objects calls them itself; a
 * command calls them by the operator's door.
 */
import { randomUUID } from "node:crypto";
import { createStorage, defineDriver, type Storage } from "unstorage";
import { NoStateError } from "../../ports/state.ts";
import type {
  CountName,
  CountReply,
  CountRequest,
  Item,
  KeptCount,
  Look,
  StateContent,
  StateDriver,
  StatePurpose,
  StoredCount,
} from "../../ports/state.ts";

/** The name of the object with the registry. */
export const REGISTRY = "registry";
/** How many objects share the calls of addresses. */
export const ADDRESS_OBJECTS = 64;
/** One message has so many counts at most. */
const AT_ONCE = 500;

/** The operations of the registry's object. Items are JSON texts by name. */
export interface RegistryOperations {
  /** Makes the state if `purpose` does. `isThere`: there is one now; `isNew`: it was made. */
  open(purpose: StatePurpose): { isThere: boolean; isNew: boolean; version: string };
  version(): string;
  /** See StateDriver. `isFill`: afterwards there is a state. */
  write(version: string, items: readonly Item<string | null>[], isFill: boolean): boolean;
  get(names: readonly string[]): (string | null)[];
  names(prefix: string): string[];
  /** The id of the account that each key belongs to; null: no key has this KEYID. */
  accountsOf(keyIds: readonly string[]): (string | null)[];
  items(): Item<string>[];
}

/** The operations of an object with calls. */
export interface CallsOperations {
  /** Counts one call of the subject. See the port Counts; `added`: calls that were granted without the object. */
  take(call: TakenCall & { limit: number | null; added: number }): {
    granted: boolean;
    used: number;
  };
  giveBack(call: TakenCall): void;
  /** Notes that a key was used on a day without a call that counts. */
  note(call: TakenCall): void;
  used(names: readonly CountName[]): number[];
  count(writer: string, number: number, batch: readonly CountRequest[]): CountReply[];
  /** Counts that a copy brings: the larger number stays. */
  keep(counts: readonly StoredCount[]): void;
  /** All counts; `account` is the id of the account whose calls it has, or empty. */
  counts(account: string): StoredCount[];
  forget(nowMs: number): void;
}

/** A call: its day UTC (epoch milliseconds of its instant), and its key (null: none). */
export interface TakenCall {
  readonly subject: string;
  readonly atMs: number;
  readonly keyId: string | null;
}

type Operations = RegistryOperations & CallsOperations;
type Name = keyof Operations;

/** Has the object of this name do an operation. Rejects with UnreachableError. */
export type Call = <N extends Name>(
  object: string,
  operation: N,
  args: Parameters<Operations[N]>,
) => Promise<ReturnType<Operations[N]>>;

/** The form of an object's name. */
export const OBJECT_NAME = /^(?:registry|account:[\w-]{1,64}|addresses:(?:[0-5]?\d|6[0-3]))$/;

/** The object with the calls of an account or of an address. */
export function objectOf(subject: string): string {
  const [kind, id = ""] = subject.split(":");
  if (kind === "account") return `account:${id}`;
  let sum = 0;
  for (let at = 0; at < subject.length; at += 1) sum = (sum * 31 + subject.charCodeAt(at)) % 65_521;
  return `addresses:${sum % ADDRESS_OBJECTS}`;
}

/** Opens the state. Throws NoStateError for a missing state that must exist, and UnreachableError. */
export async function openObjects(
  call: Call,
  location: string,
  purpose: StatePurpose,
): Promise<ObjectsState> {
  const { isThere, isNew } = await call(REGISTRY, "open", [purpose]);
  if (!isThere && purpose !== "fill") throw new NoStateError(location);
  return new ObjectsState(call, purpose, isNew ? location : null);
}

export class ObjectsState implements StateDriver {
  readonly storage: Storage;
  readonly created: string | null;
  readonly #call: Call;
  readonly #purpose: StatePurpose;
  readonly #writer = randomUUID();
  /** The objects with the calls of keys, by KEYID. A key never has another account. */
  readonly #homes = new Map<string, string>();
  #seenVersion: string | null = null;

  constructor(call: Call, purpose: StatePurpose, created: string | null) {
    this.#call = call;
    this.#purpose = purpose;
    this.created = created;
    this.storage = createStorage({ driver: itemsDriver(call) });
  }

  version(): Promise<string> {
    return this.#call(REGISTRY, "version", []);
  }

  /** Counts are written first: an interrupted copy leaves no state. */
  async write(
    version: string,
    items: readonly Item<string | null>[],
    counts: readonly KeptCount[] = [],
  ): Promise<boolean> {
    if (counts.length > 0) {
      if ((await this.version()) !== version) return false;
      const kept = counts.map(({ subject, month, used }) => ({ subject, month, used }));
      const ids = new Map<string, string>();
      for (const [name, json] of items) {
        if (json === null) continue;
        if (name.startsWith("accounts:")) ids.set(recordIn(json).name, recordIn(json).id);
      }
      for (const [name, json] of items) {
        if (json === null || !name.startsWith("keys:")) continue;
        const { key_id: keyId, account } = JSON.parse(json) as { key_id: string; account: string };
        const id = ids.get(account);
        if (id !== undefined) this.#homes.set(keyId, objectOf(`account:${id}`));
      }
      for (const [object, own] of await this.#byObject(kept))
        for (let at = 0; at < own.length; at += AT_ONCE)
          await this.#call(object, "keep", [own.slice(at, at + AT_ONCE)]);
    }
    return this.#call(REGISTRY, "write", [version, items, this.#purpose === "fill"]);
  }

  async used(names: readonly CountName[]): Promise<number[]> {
    const found = new Map<CountName, number>();
    for (const [object, own] of await this.#byObject(names)) {
      const used = await this.#call(object, "used", [own]);
      for (const [at, name] of own.entries()) found.set(name, used[at] ?? 0);
    }
    return names.map((name) => found.get(name) ?? 0);
  }

  /** The counts of one call are decided by the first of them; those in other objects follow in a second step. */
  async count(number: number, batch: readonly CountRequest[]): Promise<CountReply[]> {
    const replies = new Map<CountRequest, CountReply>();
    const granted = new Map<CountRequest, number>();
    const homes = await this.#homesOf(batch);
    const send = async (
      requests: readonly (readonly [CountRequest, CountRequest])[],
      step: 0 | 1,
    ) => {
      const byObject = Map.groupBy(requests, ([request]) => homes.get(request) as string);
      for (const [object, own] of byObject) {
        const sent = own.map(([, asSent]) => asSent);
        const got = await this.#call(object, "count", [this.#writer, number * 2 + step, sent]);
        for (const [at, [request]] of own.entries()) replies.set(request, got[at] as CountReply);
      }
    };
    let first: CountRequest | null = null;
    const firstOf = new Map<CountRequest, CountRequest>();
    for (const request of batch) {
      if (!request.follows) first = request;
      firstOf.set(request, first ?? request);
    }
    const isBeside = (request: CountRequest): boolean =>
      homes.get(request) === homes.get(firstOf.get(request) as CountRequest);
    await send(
      batch.filter(isBeside).map((request) => [request, request] as const),
      0,
    );
    for (const request of batch)
      granted.set(request, replies.get(firstOf.get(request) as CountRequest)?.granted ?? 0);
    await send(
      batch
        .filter((request) => !isBeside(request))
        .map((request) => {
          const wanted = granted.get(request) ?? 0;
          return [request, { ...request, wanted, limit: null, follows: false }] as const;
        }),
      1,
    );
    return batch.map((request) => replies.get(request) as CountReply);
  }

  async look(): Promise<Look> {
    const { isThere, version } = await this.#call(REGISTRY, "open", ["use"]);
    if (!isThere) throw new NoStateError("the registry's object");
    const isChanged = version !== this.#seenVersion;
    this.#seenVersion = version;
    return { isChanged, refusal: null };
  }

  refusal(): null {
    return null;
  }

  async evictionPolicy(): Promise<null> {
    return null;
  }

  /** Objects with calls forget by themselves when a month begins. */
  async forget(): Promise<boolean> {
    return false;
  }

  async readAll(): Promise<StateContent> {
    const items = await this.#call(REGISTRY, "items", []);
    const ids = items.flatMap(([name, json]) =>
      name.startsWith("accounts:") ? [recordIn(json).id] : [],
    );
    const objects = [
      ...new Set(ids.map((id) => `account:${id}`)),
      ...Array.from({ length: ADDRESS_OBJECTS }, (_, at) => `addresses:${at}`),
    ];
    const counts: StoredCount[] = [];
    for (const object of objects) {
      const [, account = ""] = /^account:(.*)$/.exec(object) ?? [];
      counts.push(...(await this.#call(object, "counts", [account])));
    }
    counts.sort((a, b) => (`${a.month} ${a.subject}` < `${b.month} ${b.subject}` ? -1 : 1));
    return { items, counts };
  }

  explain(error: unknown): unknown {
    return error;
  }

  async close(): Promise<void> {}

  async #byObject<N extends CountName>(names: readonly N[]): Promise<Map<string, N[]>> {
    const homes = await this.#homesOf(names);
    return Map.groupBy(names, (name) => homes.get(name) as string);
  }

  /** The object with each count. Calls of a key are with the calls of its account. */
  async #homesOf<N extends CountName>(names: readonly N[]): Promise<Map<N, string>> {
    const unknown = new Set<string>();
    for (const { subject } of names) {
      const [kind, id = ""] = subject.split(":");
      if (kind === "key" && !this.#homes.has(id)) unknown.add(id);
    }
    const keyIds = [...unknown];
    const accounts = keyIds.length === 0 ? [] : await this.#call(REGISTRY, "accountsOf", [keyIds]);
    for (const [at, keyId] of keyIds.entries()) {
      const account = accounts[at] ?? null;
      if (account !== null) this.#homes.set(keyId, `account:${account}`);
    }
    return new Map(
      names.map((name) => {
        const [kind, second = "", third = ""] = name.subject.split(":");
        if (kind === "day") return [name, objectOf(`account:${third}`)];
        if (kind !== "key") return [name, objectOf(name.subject)];
        return [name, this.#homes.get(second) ?? objectOf(`key:${second}`)];
      }),
    );
  }
}

const recordIn = (json: string) =>
  JSON.parse(json) as { readonly name: string; readonly id: string };

/** Items for unstorage: read only, as in every driver. */
const itemsDriver = (call: Call) =>
  defineDriver(() => {
    const get = async (name: string): Promise<string | null> =>
      (await call(REGISTRY, "get", [[name]]))[0] ?? null;
    return {
      name: "objects",
      hasItem: async (name: string) => (await get(name)) !== null,
      getItem: get,
      getItems: async (items: readonly { key: string }[]) => {
        const values = await call(REGISTRY, "get", [items.map(({ key }) => key)]);
        return items.map(({ key }, at) => ({ key, value: values[at] ?? null }));
      },
      getKeys: (base: string) => call(REGISTRY, "names", [base]),
    };
  })({});
