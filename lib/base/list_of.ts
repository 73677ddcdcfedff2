/** The list at a key, made when first asked for. */
export function listOf<K, V>(lists: Map<K, V[]>, key: K): V[] {
  let list = lists.get(key);
  if (!list) lists.set(key, list = []);
  return list;
}

/** The set at a key, made when first asked for. */
export function setOf<K, V>(sets: Map<K, Set<V>>, key: K): Set<V> {
  let set = sets.get(key);
  if (!set) sets.set(key, set = new Set());
  return set;
}
