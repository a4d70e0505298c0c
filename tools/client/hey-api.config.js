/** What Hey API makes of openapi.json: modules that Node runs as they are. */
export default {
  input: "openapi.json",
  output: { path: "hey-api", module: { extension: ".ts" } },
  plugins: ["@hey-api/client-fetch"],
};
