/**
 * Carries out a plan on the text of a file: fields keep their order, their spelling and their
 * comments, wherever they go. Works on the parser's own tree, which is the one that holds comments.
 */
import {
  Document,
  isMap,
  isScalar,
  type Node,
  Pair,
  parseAllDocuments,
  Scalar,
  visit,
  YAMLMap,
} from "yaml";
import { writeYaml } from "../write.ts";
import type { Plan, Step } from "./plan.ts";

type Mapping = YAMLMap<Scalar<string>, Node | null>;
type Entry = Pair<Scalar<string>, Node | null>;

/** A document to rewrite, as a tree with comments. */
export interface Editable {
  readonly document: Document;
  readonly root: Mapping;
}

const parseOptions = { schema: "failsafe", uniqueKeys: false, version: "1.1" } as const;

/** The documents of a text that was found valid before; empty ones are left out. */
export function editDocuments(text: string): Editable[] {
  return [...parseAllDocuments(text, parseOptions)].flatMap((parsed): Editable[] => {
    const document: Document = parsed;
    expandAliases(document);
    return isMapping(document.contents) ? [{ document, root: document.contents }] : [];
  });
}

/** The root of a new document with nothing in it. */
function newEditable(): Editable {
  const document = new Document(null, parseOptions);
  const root: Mapping = new YAMLMap();
  document.contents = root;
  return { document, root };
}

/** The text of one document. */
export function printEditable({ document }: Editable): string {
  return document.toString({ lineWidth: 0, indentSeq: false, nullStr: "null" });
}

/** Sets a field at the top to a text; a new one becomes the first. */
export function setTop({ root }: Editable, name: string, text: string): void {
  const entry = root.items.find(({ key }) => key.value === name);
  if (entry) replaceValue(entry, text);
  else root.items.unshift(new Pair(new Scalar(name), new Scalar(text)));
}

/** Moves the fields of a mode's document into a section of another. */
export function inlineSection(target: Editable, section: string, source: Editable): void {
  const mapping: Mapping = new YAMLMap();
  mapping.items = source.root.items.filter((entry) => !isHeader(entry));
  mapping.comment = source.root.comment ?? source.document.comment;
  const key = new Scalar(section);
  key.commentBefore = joinComments([source.document.commentBefore, ownComment(source.root)]);
  if (mapping.items.length > 0) target.root.items.push(new Pair(key, mapping));
}

/** Adds the fields of one document behind those at the top of another: of equal ones the last counts. */
export function overlay(target: Editable, source: Editable): void {
  target.root.items.push(...source.root.items.filter((entry) => !isHeader(entry)));
}

/** Takes fields out of the top of a document, for a document of their own. */
export function extract(source: Editable, wanted: (name: string) => boolean): Editable | undefined {
  const items = source.root.items.filter((entry) => !isHeader(entry) && wanted(entry.key.value));
  if (items.length === 0) return undefined;
  source.root.items = source.root.items.filter((entry) => !items.includes(entry));
  const target = newEditable();
  target.root.items = items;
  return target;
}

/** Takes a section out of a document, for a document of its own. */
export function extractSection(source: Editable, section: string): Editable | undefined {
  const taken = extract(source, (name) => name === section)?.root.items[0];
  if (!taken || !isMapping(taken.value)) return undefined;
  const target = newEditable();
  target.root.items = taken.value.items;
  target.document.commentBefore = joinComments([taken.key.commentBefore, ownComment(taken.value)]);
  target.root.comment = taken.value.comment;
  return target;
}

/** Puts a comment at the top of the file, before what stands there. */
export function setHeader({ document }: Editable, comment: string): void {
  const own = ` ${comment}`;
  if (document.commentBefore?.startsWith(own)) return;
  document.commentBefore = joinComments([own, document.commentBefore]);
}

/** Replaces every field by what the plan says; `apiVersion` and `kind` are the caller's. */
export function rewrite(source: Editable, plan: Plan): Editable {
  const rewriter = new Rewriter(source, plan);
  return rewriter.run();
}

class Rewriter {
  readonly #source: Editable;
  readonly #plan: Plan;
  readonly #root: Mapping = new YAMLMap();
  /** Comments of fields that are gone, by section, until the next field there takes them along. */
  readonly #homeless = new Map<string, string[]>();

  constructor(source: Editable, plan: Plan) {
    this.#source = source;
    this.#plan = plan;
  }

  run(): Editable {
    const { document, root } = this.#source;
    document.commentBefore = joinComments([document.commentBefore, ownComment(root)]);
    this.#walk(root, "");
    for (const step of this.#plan.added) if (step.to !== "") this.#add(step);
    this.#root.comment = root.comment;
    document.comment = joinComments([...this.#adopted(""), document.comment]);
    for (const path of [...this.#homeless.keys()]) this.#leaveAtEnd(path);
    document.contents = this.#root;
    return { document, root: this.#root };
  }

  #walk(mapping: Mapping, path: string): void {
    const last = new Map(mapping.items.map((entry) => [entry.key.value, entry]));
    for (const entry of mapping.items) {
      const name = entry.key.value;
      const own = path === "" ? name : `${path}.${name}`;
      // Of equal keys the last counts; a key with a dot would pass for a path.
      if (last.get(name) !== entry || name.includes(".")) continue;
      if (path === "" && isHeader(entry)) {
        this.#place(own, entry);
      } else if (this.#plan.fields.has(own)) {
        this.#field(entry, this.#plan.fields.get(own) ?? [], path);
      } else if (isMapping(entry.value)) {
        this.#section(entry, entry.value, own);
      } else {
        this.#forget(entry, path);
      }
    }
  }

  #section(entry: Entry, mapping: Mapping, path: string): void {
    pushDown(mapping);
    const target = this.#wholeTarget(path);
    if (target !== undefined && target !== path) {
      this.#place(target, new Pair(entry.key, this.#emptyLike(mapping)));
    } else if (this.#staysAnywhere(path)) {
      this.#place(path, new Pair(entry.key, this.#emptyLike(mapping)));
    } else {
      this.#orphan(commentsOf(entry), "");
    }
    this.#walk(mapping, path);
  }

  #emptyLike(mapping: Mapping): Mapping {
    const empty: Mapping = new YAMLMap();
    empty.comment = mapping.comment;
    return empty;
  }

  /** Where a section goes as a whole, so that its own comments go along. */
  #wholeTarget(path: string): string | undefined {
    const targets = new Set<string>();
    for (const [from, [step]] of this.#plan.fields) {
      if (!from.startsWith(`${path}.`) || !step || step.to === "") continue;
      const rest = from.slice(path.length);
      if (!step.to.endsWith(rest)) return undefined;
      targets.add(step.to.slice(0, -rest.length));
    }
    return targets.size === 1 ? [...targets][0] : undefined;
  }

  #staysAnywhere(path: string): boolean {
    return [...this.#plan.fields.values()].flat().some(({ to }) => to.startsWith(`${path}.`));
  }

  #field(entry: Entry, [step, ...others]: readonly Step[], section: string): void {
    if (!step || step.to === "") {
      this.#forget(entry, section);
    } else {
      if (step.replacement) replaceValue(entry, step.replacement.value);
      this.#place(step.to, entry);
    }
    for (const other of others) if (other.to !== "") this.#add(other);
  }

  #add(step: Step): void {
    const key = new Scalar(step.to.slice(step.to.lastIndexOf(".") + 1));
    const entry: Entry = new Pair(key, null);
    replaceValue(entry, step.replacement?.value);
    key.commentBefore = ` ${step.why}`;
    this.#place(step.to, entry);
  }

  #forget(entry: Entry, section: string): void {
    const name = String(entry.key.value);
    const comments = commentsOf(entry).map((comment) => ` on ${name}, now gone:${comment}`);
    this.#orphan(comments, section);
  }

  /** Comments stay in the section where they stood, as long as it is there. */
  #orphan(comments: readonly string[], section: string): void {
    if (comments.length === 0) return;
    const target = this.#wholeTarget(section) ?? section;
    const home = this.#isInResult(target) ? target : "";
    this.#homeless.set(home, [...this.#homeless.get(home) ?? [], ...comments]);
  }

  #isInResult(section: string): boolean {
    const steps = [...this.#plan.fields.values()].flat().concat(this.#plan.added);
    return section !== "" && steps.some(({ to }) => to.startsWith(`${section}.`));
  }

  /** Takes the comments that wait in a section. */
  #adopted(section: string): readonly string[] {
    const comments = this.#homeless.get(section) ?? [];
    this.#homeless.delete(section);
    return comments;
  }

  /** Behind the last field of the section, where no further one took them. */
  #leaveAtEnd(path: string): void {
    let mapping = this.#root;
    for (const name of path.split(".")) {
      const next = mapping.items.find(({ key }) => key.value === name)?.value;
      if (isMapping(next)) mapping = next;
    }
    mapping.comment = joinComments([mapping.comment, ...this.#adopted(path)]);
  }

  /** Puts the entry at its path, making the sections on the way. */
  #place(path: string, entry: Entry): void {
    const names = path.split(".");
    const name = names.pop() ?? "";
    let mapping = this.#root;
    for (const section of names) mapping = sectionOf(mapping, section, entry);
    if (entry.key.value !== name) entry.key.value = name;
    const present = mapping.items.find(({ key }) => key.value === name);
    if (present && isMapping(present.value) && isMapping(entry.value)) {
      present.key.commentBefore = joinComments([
        present.key.commentBefore,
        entry.key.commentBefore,
      ]);
      present.value.comment = joinComments([present.value.comment, entry.value.comment]);
      return;
    }
    const adopted = this.#adopted(names.join("."));
    if (adopted.length > 0) {
      entry.key.commentBefore = joinComments([...adopted, entry.key.commentBefore]);
    }
    mapping.items.push(entry);
  }
}

/** A new section stands where its first entry stood, behind the same empty line. */
function sectionOf(mapping: Mapping, name: string, first: Entry): Mapping {
  const present = mapping.items.find(({ key }) => key.value === name);
  if (present && isMapping(present.value)) return present.value;
  const section: Mapping = new YAMLMap();
  const key = new Scalar(name);
  key.spaceBefore = first.key.spaceBefore;
  first.key.spaceBefore = false;
  mapping.items.push(new Pair(key, section));
  return section;
}

/** The comment before the first field of a mapping hangs on the mapping, not on the field. */
function pushDown(mapping: Mapping): void {
  const [first] = mapping.items;
  const comment = ownComment(mapping);
  if (first && comment) first.key.commentBefore = joinComments([comment, first.key.commentBefore]);
}

function ownComment(mapping: Mapping): string | undefined {
  const comment = mapping.commentBefore ?? undefined;
  mapping.commentBefore = undefined;
  return comment;
}

function commentsOf({ key, value }: Entry): string[] {
  return [key.commentBefore, key.comment, value?.commentBefore, value?.comment].flatMap(
    (comment) => comment ? [comment] : [],
  );
}

function joinComments(comments: readonly (string | null | undefined)[]): string | null {
  const present = comments.filter((comment) => comment !== undefined && comment !== null);
  return present.length === 0 ? null : present.join("\n");
}

/** A new value with the old one's comments. */
function replaceValue(entry: Entry, value: unknown): void {
  const [parsed] = editDocuments(writeYaml({ value }));
  const fresh = parsed?.root.items[0]?.value ?? null;
  const old = entry.value;
  if (isScalar(fresh)) {
    fresh.comment = old?.comment;
    fresh.commentBefore = old?.commentBefore;
  } else {
    // Behind a list there is no place at the end of the line.
    entry.key.commentBefore = joinComments([entry.key.commentBefore, old?.comment]);
  }
  entry.value = fresh;
}

/** Fields go their own ways, so each alias becomes a copy of what it stands for. */
function expandAliases(document: Document): void {
  const anchors = new Map<string, Node>();
  visit(document, {
    // An anchor stands before its aliases; without it, copies do not name themselves again.
    Value: (_key, node) => {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      node.anchor = undefined;
    },
    Alias: (_key, alias) => anchors.get(alias.source)?.clone() as Node | undefined,
  });
  visit(document, {
    Map: (_key, mapping) => {
      if (isMapping(mapping)) expandMerges(mapping);
    },
  });
}

function expandMerges(mapping: Mapping): void {
  const merges = mapping.items.filter(({ key }) => key.value === "<<" && key.type === "PLAIN");
  if (merges.length === 0) return;
  mapping.items = mapping.items.filter((entry) => !merges.includes(entry));
  const names = new Set(mapping.items.map(({ key }) => key.value));
  for (const { value } of merges) {
    const sources = isMapping(value) ? [value] : value && "items" in value ? value.items : [];
    for (const source of sources) {
      if (!isMapping(source)) continue;
      for (const entry of source.items) {
        if (names.has(entry.key.value)) continue;
        names.add(entry.key.value);
        mapping.items.push(entry);
      }
    }
  }
}

function isHeader({ key }: Entry): boolean {
  return key.value === "apiVersion" || key.value === "kind";
}

function isMapping(node: unknown): node is Mapping {
  return isMap(node) && node.items.every(({ key }) => isScalar(key));
}
