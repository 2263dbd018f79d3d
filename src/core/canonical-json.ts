import type { JsonTree } from './json-tree.ts'

/** Paths, as a tree of names. `*` is any member of an object and any element of an array. */
export interface Paths {
  readonly names: Map<string, Paths>
  /** A path ends here, the one with this index. */
  end: number | undefined
}

/** Which parts of a payload count. `include` of `undefined`: all. */
export interface Parts {
  readonly include: Paths | undefined
  readonly omit: Paths | undefined
}

export function pathsOf(paths: readonly (readonly string[])[]): Paths {
  const root: Paths = { names: new Map(), end: undefined }
  for (const [index, path] of paths.entries()) {
    let node = root
    for (const name of path) {
      const next = node.names.get(name) ?? { names: new Map<string, Paths>(), end: undefined }
      node.names.set(name, next)
      node = next
    }
    node.end ??= index
  }
  return root
}

/**
 * The canonical text (RFC 8785) of the parts that count, `undefined` if there are none. Adds the index of each path of
 * `include` that exists to `found`.
 */
export function canonicalText(tree: JsonTree, parts: Parts, found: Set<number>): string | undefined {
  const { include, omit } = parts
  return write(tree, include && [include], omit === undefined ? NONE : [omit], found)
}

const NONE: readonly Paths[] = []

/** `included` of `undefined`: all of it counts. */
function write(
  tree: JsonTree,
  included: readonly Paths[] | undefined,
  omitted: readonly Paths[],
  found: Set<number>,
  isWhole: boolean = included === undefined,
): string | undefined {
  if (omitted.some(({ end }) => end !== undefined)) return undefined
  let counts = isWhole
  for (const { end } of included ?? NONE) {
    if (end === undefined) continue
    found.add(end)
    counts = true
  }
  if (typeof tree === 'string') return counts ? tree : undefined
  if (!counts && included?.length === 0) return undefined
  const within = (name: string, value: JsonTree): string | undefined =>
    write(value, included && below(included, name), below(omitted, name), found, counts)
  const written: string[] = []
  if (tree.kind === 'array') {
    for (const [index, item] of tree.items.entries()) {
      const text = within(String(index), item)
      if (text !== undefined) written.push(text)
    }
    return `[${written.join(',')}]`
  }
  for (const [name, value] of tree.members) {
    const text = within(name, value)
    if (text !== undefined) written.push(`${JSON.stringify(name)}:${text}`)
  }
  return `{${written.join(',')}}`
}

function below(paths: readonly Paths[], name: string): readonly Paths[] {
  if (paths.length === 0) return NONE
  const next: Paths[] = []
  for (const { names } of paths) {
    for (const one of [names.get(name), name === '*' ? undefined : names.get('*')])
      if (one !== undefined) next.push(one)
  }
  return next
}
