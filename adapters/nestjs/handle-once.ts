import {
  CONSUMER,
  ELSEWHERE,
  needed,
  optionsOf,
  where,
  type AnyRule,
  type ConsumerSettings,
  type Table,
  nowCalled,
} from '../../src/internal.ts'

/** Functions that take any payload and any transaction: the method says which. */
type Taken = Omit<ConsumerSettings<never, never, never>, 'name' | 'store' | 'decode' | 'payloadSchema'>
/** What gives payloads and transactions of any type. */
type Given = Pick<ConsumerSettings<unknown, unknown, unknown>, 'store' | 'decode' | 'payloadSchema'>

/** What a handler consumes, and the options of its consumer beside the defaults of the module. */
export interface HandleOnceOptions extends Partial<Taken>, Partial<Given> {
  /** As of `defineConsumer`. */
  readonly name: string
  /** Given to `start` of the module: for example `{ topics: ['sms'], group: 'sms' }` for `runKafka`. */
  readonly startWith: unknown
}

/** A method that handles messages, found by its decorator. */
export interface DecoratedHandler {
  readonly method: string
  readonly options: HandleOnceOptions
}

export type Defaultable = Omit<HandleOnceOptions, 'name' | 'startWith'>

const { handle: _, handleBatch: __, name, ...rules } = CONSUMER

export const NAME: (typeof CONSUMER)['name'] = name

/** The options of a consumer that the module can give to all. What is left out has the default of `defineConsumer()`. */
export const DEFAULTABLE: Table<Defaultable, keyof Defaultable> = Object.fromEntries(
  Object.entries(rules).map(([option, { default: ___, isNeeded: ____, ...rule }]: [string, AnyRule]) => [option, rule]),
) as unknown as Table<Defaultable, keyof Defaultable>

const HANDLE_ONCE: Table<HandleOnceOptions, keyof Defaultable> = {
  ...DEFAULTABLE,
  name,
  startWith: needed(where('what `start` takes', (given) => given !== undefined)),
  [ELSEWHERE]: {
    from: nowCalled('startWith'),
    schema: nowCalled('payloadSchema'),
    handle: 'the method is the handler',
    handleBatch: 'for batches use defineConsumer() in `start`',
  },
}

/** Known to every copy of this package: a library of yours may decorate with its own. */
const HANDLERS: unique symbol = Symbol.for('consume-once.handlers')

/**
 * Makes a method of a provider the handler of a consumer. It gets the context of `handle` and is called on the provider.
 * For batches, use `defineConsumer` in `start` instead.
 *
 * @throws ConfigError `CONFIG_INVALID` for an unknown option
 */
export function HandleOnce(options: HandleOnceOptions): MethodDecorator {
  optionsOf('HandleOnce', HANDLE_ONCE, options)
  return (prototype, method) => {
    const earlier = handlersOf(prototype)
    Object.defineProperty(prototype, HANDLERS, {
      configurable: true,
      value: [...earlier, { method: String(method), options }],
    })
  }
}

/** The decorated methods of a provider's class, also of the classes that it extends. */
export function handlersOf(provider: unknown): readonly DecoratedHandler[] {
  return (provider as { readonly [HANDLERS]?: readonly DecoratedHandler[] } | null | undefined)?.[HANDLERS] ?? []
}
