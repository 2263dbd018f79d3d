type Table = Record<string, unknown>

/**
 * A header value as amqplib read it, in the form in which amqplib writes the same. amqplib writes a table with a field
 * `!` as the type that the field names: from a table of a producer it would make a number, and so another message ID.
 */
export function writable(value: unknown): unknown {
  if (Array.isArray(value)) return value.some(isChanged) ? value.map(writable) : value
  if (!isTable(value) || isTyped(value)) return value
  const names = Object.keys(value)
  if (!Object.hasOwn(value, '!') && !names.some((name) => isChanged(value[name]))) return value
  const fields: Table = Object.create(null) as Table
  for (const name of names) fields[name] = writable(value[name])
  // amqplib writes inherited fields too, and looks for a type among own ones only.
  return Object.hasOwn(value, '!') ? (Object.create(fields) as Table) : fields
}

function isChanged(value: unknown): boolean {
  return writable(value) !== value
}

/** The two types that amqplib reads as such a table. */
function isTyped(value: Table): boolean {
  const { '!': type, value: inner, ...others } = value
  if (Object.keys(others).length > 0) return false
  if (type === 'timestamp') return typeof inner === 'number' && inner >= 0 && inner < 2 ** 64
  if (type !== 'decimal' || !isTable(inner)) return false
  const { places, digits } = inner
  return isWhole(places, 255) && isWhole(digits, 2 ** 32 - 1)
}

function isWhole(value: unknown, most: number): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= most
}

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
}
