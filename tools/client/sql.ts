/** DuckDB, as readers of the history files use it. */

/** The rows of one query, as JSON has them. */
export type Ask = (sql: string) => Promise<unknown[][]>;

/** Gives a new database in memory to `use`, and what that resolves with to the caller. */
export async function withDuckDb<T>(use: (ask: Ask) => Promise<T>): Promise<T> {
  // Asked for here, so that what imports this module loads without its package.
  const { DuckDBConnection } = await import("@duckdb/node-api");
  const duck = await DuckDBConnection.create();
  try {
    return await use(async (sql) => (await duck.runAndReadAll(sql)).getRowsJson());
  } finally {
    duck.closeSync();
  }
}
