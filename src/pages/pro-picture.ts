/** The picture of a chart of the demonstration, which says that its data are illustrative. */
import { fillTemplate, siteFile } from "../site/site-files.ts";
import { assetPath } from "./assets.ts";
import { hrefOf } from "./page-frame.ts";

/** For a page at the root of the service. */
export const proPictureHtml = (): string =>
  fillTemplate(siteFile("pro-picture.html"), {
    light: hrefOf("", assetPath("pro-light.webp")),
    dark: hrefOf("", assetPath("pro-dark.webp")),
    narrow_light: hrefOf("", assetPath("pro-narrow-light.webp")),
    narrow_dark: hrefOf("", assetPath("pro-narrow-dark.webp")),
  });
