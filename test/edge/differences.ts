/** Everything that the platform does to requests and answers: the Worker's answer then differs from the Node host's. */

export interface Difference {
  /** A row of the table in docs/operate/worker.md. */
  readonly words: string;
  /** The tests of transcripts that it makes fail, which nothing else does. */
  readonly tests: readonly string[];
}

const KEYS = "keys.http > ";
const CODING = "codings.http > Accept-Encoding | ";
const NONE = "paths.http > An address that is none | ";

export const DIFFERENCES: readonly Difference[] = [
  {
    words: "Dot segments and backslashes of a path are resolved before the service sees it",
    tests: [
      `${NONE}/api/public/v1/./prices`,
      `${NONE}/api/public/v1/prices/%2E%2E/index`,
      `${NONE}/api/public/v1/prices/../../../../readyz`,
      `${NONE}/api/public/v1/prices/../prices`,
      `${NONE}/api/public/v1\\prices`,
    ],
  },
  {
    words: "Fields of one name arrive as one, in the order of the alphabet",
    tests: [
      `${KEYS}Authorization that is sent twice is refused for that | Bearer {pro}`,
      `${KEYS}Authorization that is sent twice is refused for that | Digest x`,
      `${KEYS}Of several, the first is named`,
    ],
  },
  {
    words: "Fields without a value do not arrive",
    tests: [
      "conditional.http > If-Match holds for the tag itself, compared strongly |  | 412 precondition_failed | 412 | 0",
      `${KEYS}A key that is sent and not valid is never the free slice | Authorization | `,
      "ranges.http > If-Range: a part of the file as it is, otherwise the whole file | a long export |  | 200 | -",
      "ranges.http > If-Range: a part of the file as it is, otherwise the whole file | a long export, streamed |  | 200 | -",
    ],
  },
  {
    words:
      "Answers may be coded again on the way, by the platform's own reading of Accept-Encoding",
    tests: [
      "* | gzip",
      "br | -",
      "br;q=0, *;q=0.3 | gzip",
      "gzip;q=0.5, br | gzip",
      "gzip;q=2 | -",
      "identity;q=0 | -",
      "identity;q=0, *;q=0 | -",
      "identity;q=1, gzip;q=1 | gzip",
    ].map((row) => CODING + row),
  },
];
