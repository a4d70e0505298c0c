/** What Orval makes of openapi.json: functions that ask the server of the document by fetch. */
export default {
  prices: {
    input: "openapi.json",
    output: {
      target: "orval.ts",
      client: "fetch",
      baseUrl: { getBaseUrlFromSpecification: true },
    },
  },
};
