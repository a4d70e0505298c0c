/**
 * The reference of the interface, `/docs`: each operation with its parameters, fields and errors, a request in
 * three languages and a recorded answer; the table of errors. Made from what the OpenAPI document is made from.
 */
import { slotOf } from "../pages/document-slots.ts";
import { PROBLEMS, type Problem } from "../public/problems.ts";
import { API, TAGS, takenBy, type Route } from "../public/routes.ts";
import { fillTemplate, siteFile } from "../site/site-files.ts";
import { counted, escaped } from "../site/text.js";
import { componentSchemas, recordedAt } from "./openapi-components.ts";
import { aboutOf, documentedIn, problemsOf } from "./openapi-operations.ts";
import type { JsonSchema } from "./open-schemas.ts";
import { readable, RECORDED_FROM, runnable, toWhom } from "./recorded-answers.ts";
import { renderMarkdown } from "./markdown.ts";
import { sourceText } from "./source-texts.ts";
import { withSlots } from "./texts.ts";

const ORIGIN = slotOf("origin");

/** The HTML for the frame of `/docs`. */
export function referenceMain(): string {
  // Links of pages are relative, so that the service works below a prefix.
  const rulesText = withSlots(sourceText("reference-rules.md"), false).replaceAll(`${ORIGIN}/`, "");
  const { sections } = renderMarkdown(rulesText);
  const [promise = "", rules = ""] = sections.split(/(?=<h2 id="rules)/);
  return fillTemplate(sourceText("reference.html"), {
    promise,
    rules,
    list: TAGS.map(listOf).join("\n"),
    base: ORIGIN + API,
    operations: TAGS.map(sectionOf).join("\n"),
    problems: Object.entries(PROBLEMS).map(problemRow).join("\n"),
  });
}

type Tag = (typeof TAGS)[number];

const listOf = (tag: Tag): string => {
  const links = documentedIn(tag.name).map(
    ({ operationId, path }) => `<li><a href="#${operationId}">${path.replace(API, "")}</a></li>`,
  );
  return `<p>${tag.name}</p>\n<ul>\n${links.join("\n")}\n</ul>`;
};

const sectionOf = (tag: Tag): string =>
  `<section>\n<h2>${tag.name}</h2>\n<p>${proseHtml(tag.description)}</p>\n` +
  `${documentedIn(tag.name).map(operation).join("\n")}\n</section>`;

function operation(route: Route): string {
  const { operationId, summary, path, answer, id, body } = route;
  const taken = [id ?? [], takenBy(route)]
    .flat()
    .map(({ name, description, schema }) => definition(name, schema, proseHtml(description)));
  return `<article id="${operationId}">
<div>
<h3><a href="#${operationId}">${escaped(summary)}</a></h3>
<p class="endpoint"><b>GET</b> <code>${path.replaceAll("/", "<wbr>/")}</code></p>
<p>${proseHtml(`${aboutOf(route) ?? ""} ${answer}`)}</p>
${list("Parameters", taken)}
${"json" in body ? list("Fields of the answer", fieldsOf(SCHEMAS[body.json])) : ""}
<h4>Errors</h4>
${errorsHtml(route)}
</div>
${requestHtml(route)}
</article>`;
}

/** A description, which is Markdown (OpenAPI 3.1, 3.5); ours have code and nothing else. */
const proseHtml = (text: string): string => escaped(text).replace(/`([^`]+)`/g, "<code>$1</code>");

const list = (title: string, definitions: readonly string[]): string =>
  definitions.length === 0 ? "" : `<h4>${title}</h4>\n<dl>\n${definitions.join("\n")}\n</dl>`;

const definition = (name: string, schema: JsonSchema, html: string): string =>
  `<div><dt><code>${name}</code> ${formOf(schema)}</dt><dd>${html}</dd></div>`;

const SCHEMAS = componentSchemas();

/** The fields of an object; the fields of an inner object follow the field that holds it. */
const fieldsOf = ({ properties = {} }: JsonSchema = {}): string[] =>
  Object.entries(properties).map(([name, field]) => {
    const inner = fieldsOf(innerOf(field));
    const below =
      inner.length === 0
        ? ""
        : `<details><summary>${counted(inner.length, "field")}</summary><dl>\n${inner.join("\n")}\n</dl></details>`;
    return definition(name, field, proseHtml(field.description ?? "") + below);
  });

/** The schema of the objects that a field holds, directly or in a list. */
function innerOf({ $ref = "", items, anyOf = [], ...field }: JsonSchema): JsonSchema | undefined {
  if (items !== undefined) return innerOf(items);
  const [inner] = anyOf
    .flatMap((each) => innerOf(each) ?? [])
    .filter(({ properties }) => properties);
  return SCHEMAS[$ref.replace(/.*\//, "")] ?? inner ?? field;
}

/** The form of a value in words: `integer, 1 to 2000`. */
function formOf({ type = "object", format, items, anyOf, ...schema }: JsonSchema): string {
  if (anyOf !== undefined) return anyOf.map(formOf).join(" or ");
  if (items !== undefined) return `list, each: ${formOf(items)}`;
  const { minimum, maximum = Infinity, default: usual, examples = [] } = schema;
  const forms = [schema.const ?? format ?? type].flat().join(" or ");
  const values = examples.length === 0 ? "" : `: ${examples.join(" or ")}`;
  const range = maximum < Number.MAX_SAFE_INTEGER ? `, ${minimum} to ${maximum}` : "";
  return forms + values + range + (usual === undefined ? "" : `, by default ${usual}`);
}

const errorsHtml = (route: Route): string => {
  const lines = [...problemsOf(route)].flatMap(([status, codes]) =>
    codes.map((code) => `<li>${status} <a href="#${code}">${code}</a></li>`),
  );
  const list = `<ul class="errors">\n${lines.toSorted().join("\n")}\n</ul>`;
  return `<details class="codes"><summary>${counted(lines.length, "code")}</summary>\n${list}</details>`;
};

const READABLE = { listMax: 1, head: 1, tail: 0, lineMax: 52 };

/** The request of the recorded answer, with that answer. A script makes it one that runs. */
function requestHtml({ path, body, isKeyed, ...route }: Route): string {
  const example = recordedAt(path)[0];
  const sent = example === undefined ? path : runnable(example.request.slice("GET ".length));
  const slots = { url: escaped(ORIGIN + sent) };
  const file = path.slice(path.lastIndexOf("/") + 1);
  const form = !isKeyed ? "open" : "json" in body ? "json" : "text" in body ? "text" : "file";
  const programs = siteFile(`request-${form}.html`);
  const lines = example && [
    `<p class="note">Answer ${toWhom(example)}: 200. ${RECORDED_FROM}</p>`,
    `<pre tabindex="0"><code>${escaped(readable(example.body, READABLE)[1])}</code></pre>`,
  ];
  const about = [
    `data-path="${escaped(sent)}"`,
    `data-counts="${"isOffered" in route ? "Costs a call" : "Costs no call"}"`,
    ...(isKeyed ? ["data-keyed"] : []),
    ...("binary" in body ? [`data-file="${file}"`] : []),
  ];
  return `<div class="request" ${about.join(" ")}>
${fillTemplate(programs, "binary" in body ? { ...slots, file } : slots)}
<div class="answer">${lines?.join("\n") ?? ""}</div>
</div>`;
}

/** `type` of a problem document is the address of its row. */
const problemRow = ([code, { status, title, meaning, remedy }]: [string, Problem]): string =>
  `<tr id="${code}"><th scope="row"><code>${code}</code></th><td>${status}</td>` +
  `<td><b>${escaped(title)}.</b> ${escaped(meaning)} ${escaped(remedy)}</td></tr>`;
