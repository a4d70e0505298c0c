/** The parts of a Worker's platform that this host uses (Cloudflare, Workers runtime APIs). */

/** The database of one Durable Object. A request's statements are one step, which is durable before it is answered. */
export interface Sql {
  exec(
    query: string,
    ...values: readonly (string | number | null)[]
  ): {
    toArray(): Record<string, unknown>[];
  };
}

/** What a Durable Object is made with. */
export interface ObjectContext {
  readonly storage: {
    readonly sql: Sql;
    /** All statements of `work`, or none if it throws. */
    transactionSync<T>(work: () => T): T;
  };
}

/** The Durable Objects of a class. */
export interface ObjectNamespace {
  idFromName(name: string): unknown;
  get(id: unknown): { fetch(url: string, init: RequestInit): Promise<Response> };
}

interface BucketObject {
  readonly key: string;
  readonly size: number;
}

interface BucketBody extends BucketObject {
  readonly body: ReadableStream<Uint8Array>;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** A bucket of R2. Lists and reads see each write that was answered. */
export interface Bucket {
  get(
    key: string,
    options?: { range: { offset: number; length: number } },
  ): Promise<BucketBody | null>;
  head(key: string): Promise<BucketObject | null>;
  /** Null: the condition does not hold. */
  put(
    key: string,
    bytes: Uint8Array,
    options: {
      onlyIf: { etagDoesNotMatch: string };
      httpMetadata: { contentType: string; cacheControl: string };
    },
  ): Promise<BucketObject | null>;
  list(options: { prefix: string; cursor?: string }): Promise<{
    readonly objects: readonly BucketObject[];
    readonly truncated: boolean;
    readonly cursor?: string;
  }>;
  delete(key: string): Promise<void>;
}
