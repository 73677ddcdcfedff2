/** Elements of a dump as values. Timeouts are not looked at: what rules add comes and goes. */
import { readString } from "../netlink/attributes.ts";
import { compareBytes, decrement } from "./bytes.ts";
import { copyElement, ElementCursor } from "../nf_tables/element_cursor.ts";
import { type FieldLayout, fieldLayout, readFieldRanges, readFields } from "./fields.ts";
import type { NftElement, NftFamily, NftField, NftSet, NftVerdict } from "./operations.ts";
import { readComment } from "./user_data.ts";
import { verdictOfCode } from "../nf_tables/verdict.ts";
import { ElemFlag } from "../nf_tables/wire.ts";

/** Decodes a list of elements of the set, in the list's order (intervals of a single field: sorted). */
export function decodeElements(
  elements: Uint8Array,
  set: NftSet,
  family: NftFamily,
): readonly NftElement[] {
  const layouts = elementLayouts(set, family);
  const cursor = new ElementCursor(elements);
  if (set.interval && set.key.length === 1) return decodeTree(cursor, layouts);
  const found: NftElement[] = [];
  while (cursor.next()) found.push(decodeElement(cursor, layouts));
  return found;
}

/** The verdict with that code and the bytes of its chain; undefined for what our language cannot say. */
export function verdictOf(code: number, chain: Uint8Array): NftVerdict | undefined {
  return verdictOfCode(code, chain.length === 0 ? undefined : readString(chain));
}

interface ElementLayouts {
  readonly key: FieldLayout;
  readonly value: FieldLayout | undefined;
  readonly interval: boolean;
}

function elementLayouts(set: NftSet, family: NftFamily): ElementLayouts {
  const hasData = set.value !== undefined && set.value !== "verdict";
  return {
    key: fieldLayout(set.key, family),
    value: hasData ? fieldLayout(set.value, family) : undefined,
    interval: set.interval === true,
  };
}

function decodeElement(cursor: ElementCursor, layouts: ElementLayouts): NftElement {
  if (isCatchAll(cursor)) return withRest(cursor, [], layouts);
  const key = layouts.interval
    ? readFieldRanges(layouts.key, {
      first: cursor.view(cursor.key),
      last: cursor.view(cursor.keyEnd.length > 0 ? cursor.keyEnd : cursor.key),
    })
    : readFields(layouts.key, cursor.view(cursor.key));
  return withRest(cursor, key, layouts);
}

function isCatchAll({ flags }: ElementCursor): boolean {
  return (flags & ElemFlag.catchAll) !== 0;
}

/** Adds value and comment of the element that the cursor stands on. */
function withRest(
  cursor: ElementCursor,
  key: readonly NftField[],
  { value: layout }: ElementLayouts,
): NftElement {
  const value = cursor.verdictCode >= 0
    ? verdictOf(cursor.verdictCode, cursor.view(cursor.chain))
    : layout && cursor.data.length > 0
    ? readFields(layout, cursor.view(cursor.data))
    : undefined;
  const comment = cursor.userData.length > 0
    ? readComment(cursor.view(cursor.userData))
    : undefined;
  if (comment !== undefined) {
    return value === undefined ? { key, comment } : { key, value, comment };
  }
  return value === undefined ? { key } : { key, value };
}

interface TreeNode {
  readonly key: Uint8Array;
  readonly isEnd: boolean;
  readonly element: Uint8Array;
}

/** The kernel keeps a start and an end for each interval, and dumps them in its own order. */
function decodeTree(cursor: ElementCursor, layouts: ElementLayouts): NftElement[] {
  const nodes: TreeNode[] = [];
  const found: NftElement[] = [];
  while (cursor.next()) {
    if (isCatchAll(cursor)) {
      found.push(withRest(cursor, [], layouts));
      continue;
    }
    nodes.push({
      key: cursor.view(cursor.key),
      isEnd: (cursor.flags & ElemFlag.intervalEnd) !== 0,
      element: copyElement(cursor),
    });
  }
  // An end sorts before the start of the interval that follows at once.
  nodes.sort((a, b) => compareBytes(a.key, b.key) || Number(b.isEnd) - Number(a.isEnd));
  for (const [i, node] of nodes.entries()) {
    if (node.isEnd) continue;
    const next = nodes[i + 1];
    const last = next ? next.key.slice() : new Uint8Array(node.key.length);
    decrement(last);
    const own = new ElementCursor(node.element);
    own.next();
    found.push(withRest(own, readFieldRanges(layouts.key, { first: node.key, last }), layouts));
  }
  return found;
}
