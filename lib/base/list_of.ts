/** The list at a key, made when first asked for. */
export function listOf<K, V>(lists: Map<K, V[]>, key: K): V[] {
  let list = lists.get(key);
  if (!list) lists.set(key, list = []);
  return list;
}
