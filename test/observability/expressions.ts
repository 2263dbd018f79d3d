/** Metrics that an expression of PromQL asks for, without the suffixes of a histogram. */
export function namesIn(expression: string): string[] {
  const names = [...expression.matchAll(/\bconsume_once_\w+/g)].map(([name]) => name)
  return [...new Set(names.map((name) => name.replace(/_(?:bucket|sum|count)$/, '')))]
}

/** Labels that an expression selects, groups or joins by. */
export function labelsIn(expression: string): string[] {
  const lists = [...expression.matchAll(/\b(?:by|on|without|ignoring|group_left) ?\(([^)]*)\)/g)]
  const grouped = lists.flatMap(([, list = '']) => list.split(','))
  const selected = [...expression.matchAll(/\{([^}]*)\}/g)].flatMap(([, list = '']) =>
    [...list.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
  )
  return [...new Set([...grouped, ...selected].map((label) => label.trim()).filter((label) => label !== ''))]
}
