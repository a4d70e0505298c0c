/** The page `/verify`: proves a file of evidence in the browser. */
import { siteFile } from "../site/site-files.ts";
import { PAGES } from "../public/uncounted-routes.ts";
import type { PageSource } from "../core/serve/document.ts";
import { framePage } from "./page-frame.ts";

export const verifyPage = (): PageSource =>
  framePage({
    path: PAGES.verify.path,
    title: "Verify evidence",
    main: siteFile("verify.html"),
    script: "verify.js",
  });
