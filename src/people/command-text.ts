// Commands of the command-line tool, as a person pastes them into a shell. Pure.

/** A message as a command names it. `id`: what a person looked for; the store keeps no ID, only its key. */
export interface Named {
  readonly id: string | undefined
  readonly key: string
  /** Set if the ID has records under several origins. */
  readonly origin: string | undefined
  /** Its record does not say of which consumer it is, so a decision by key must. @defaultValue false */
  readonly unscoped?: boolean
}

/** A consumer as a command names it. */
export interface NamedConsumer {
  /** `group/name` */
  readonly id: string
  readonly name: string
}

/** `npx consume-once <verb> <consumer> <rest>`; the consumer by its name alone if no other has that name. */
export function command(
  verb: string,
  consumer: NamedConsumer,
  consumers: readonly Pick<NamedConsumer, 'name'>[],
  rest = '',
): string {
  const isOnly = consumers.filter(({ name }) => name === consumer.name).length < 2
  return `npx consume-once ${verb} ${quoted(isOnly ? consumer.name : consumer.id)}${rest === '' ? '' : ` ${rest}`}`
}

/** The arguments that name one message. A person may add options behind them, so there is no `--` for an ID that begins with a hyphen. */
export function refOf({ id, key, origin, unscoped = false }: Named): string {
  if (id === undefined || id.startsWith('-')) return `${unscoped ? '--unscoped ' : ''}${key}`
  return `${origin === undefined ? '' : `--origin ${quoted(origin)} `}${quoted(id)}`
}

/** The same for `redrive`, which has no origin: an ID stands for its messages under each of them. */
export function redriveRefOf({ id, key, origin }: Named): string {
  return refOf({ id: origin === undefined ? id : undefined, key, origin: undefined })
}

/** Asks for one message. `consumers`: only these, by their names. */
export function whyCommand(text: string, consumers: readonly string[] = []): string {
  return asked('why', text, consumers)
}

/** Looks for a part of a message. */
export function findCommand(text: string, consumers: readonly string[] = []): string {
  return asked('find', text, consumers)
}

function asked(verb: string, text: string, consumers: readonly string[]): string {
  const only = consumers.length === 0 ? [] : [`--consumer ${consumers.map(quoted).join(',')}`]
  // That option takes every word behind it.
  const words = text.startsWith('-') ? [...only, '--', quoted(text)] : [quoted(text), ...only]
  return `npx consume-once ${verb} ${words.join(' ')}`
}

/** Quotes for a shell. */
export function quoted(text: string): string {
  return /^[\w.@%+:/-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
