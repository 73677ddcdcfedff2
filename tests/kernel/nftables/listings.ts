/** Listings of `nft` in a form that can be compared. */

/** Elements of hashed sets come in any order, on lines that break anywhere: sorts them. */
export function sortElements(listing: string): string {
  return listing.replace(
    /elements = \{([^}]*)\}/g,
    (_, list: string) => {
      const elements = list.split(",").map((each) => each.trim().replaceAll(/\s+/g, " "));
      return `elements = { ${elements.sort().join(", ")} }`;
    },
  ).replace(
    /\{ ([^{}\n]*) \}/g,
    (_, list: string) => `{ ${list.split(", ").sort().join(", ")} }`,
  );
}
