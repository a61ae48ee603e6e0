// Checks for the programs of this folder.

/** @throws if it does not hold. */
export function check(holds: boolean, what: string): asserts holds {
  if (!holds) {
    throw new Error(what);
  }
}

/** The first of a list that has one. */
export function first<T>(list: T[]): T {
  const [one] = list;
  check(one !== undefined, "the list is not empty");
  return one;
}

/** The last of a list that has one. */
export function last<T>(list: T[]): T {
  return first(list.slice(-1));
}
