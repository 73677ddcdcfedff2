/** What this node is called at the apiserver. */

/** The override if there is one, else the host's name; trimmed and in lower case, as upstream. */
export function nodeNameOf(override: string, hostName: string): string {
  const name = (override === "" ? hostName : override).trim().toLowerCase();
  if (name === "") {
    throw new Error(
      `Cannot tell this node's name from "${override}": it is blank; set hostnameOverride or --hostname-override`,
    );
  }
  return name;
}
