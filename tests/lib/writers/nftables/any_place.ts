/**
 * A table's text in which the endpoints of each frontend stand in sorted order. Which of them has
 * which place says what was before, not what shall be. A gap or a double place stays to be seen.
 */
export function inAnyPlace(table: string): string {
  return table.replace(
    /(map \S*endpoints(?:-\d+)? \{.* elements = \{ )(.*)( \} \})/g,
    (_, before: string, elements: string, after: string) =>
      before + sortPlaces(elements.split(", ")).join(", ") + after,
  );
}

/** `frontend . place : endpoint`, where endpoints in all places from 0 on are in sorted order. */
function sortPlaces(elements: readonly string[]): readonly string[] {
  const frontends = Map.groupBy(
    elements.map((element) => /^(.*) \. (\d+) : (.*)$/.exec(element) ?? ["", element, "", ""]),
    ([, frontend]) => frontend,
  );
  return [...frontends].flatMap(([frontend, list]) => {
    const places = list.map(([, , place]) => Number(place)).sort((a, b) => a - b);
    const endpoints = list.map(([, , , endpoint]) => endpoint).sort();
    return places.map((place, i) => `${frontend} . ${place} : ${endpoints[i]}`);
  }).sort();
}
