import { definitionOf, notDefined, type Consumer } from '../consumer/define-consumer.ts'
import {
  asGiven,
  func,
  having,
  judged,
  listOf,
  needed,
  object,
  optionsOf,
  or,
  type Rule,
  type Table,
} from '../foundation/options.ts'
import { shown } from '../foundation/shown.ts'
import { SUBSCRIPTION } from './check-subscription.ts'
import type { Subscription } from '../ports/subscription.ts'
import type { Migrations } from '../ports/migrations.ts'

/** The configuration of the command-line tool: the default export of `consume-once.config.js`, `.mjs`, `.ts` or `.mts`. */
export interface ConsumeOnceConfig {
  /** The modules that define them must not run them. */
  readonly consumers: readonly ConfiguredConsumer[]
  /** For `migrate`: `postgresMigrations({ pool })`, `mysqlMigrations({ pool })`. @defaultValue none */
  readonly migrations?: readonly Migrations[]
  /** Closes the connections that the config opened. Called once, at the end of a command. */
  readonly close?: () => unknown
}

export interface ConfiguredConsumer {
  readonly consumer: Consumer
  /**
   * `kafkaSubscription(kafka, options)` or `rabbitSubscription(url, options)`, with the options that run the consumer; or `{ group,
   * origins }`.
   */
  readonly subscription: Subscription
}

const CONFIGURED: Table<ConfiguredConsumer> = {
  consumer: needed(
    judged('what defineConsumer() returned', (consumer) => {
      try {
        definitionOf(consumer as Consumer)
        return undefined
      } catch {
        return notDefined(consumer, shown(consumer))
      }
    }),
  ),
  subscription: needed(object(SUBSCRIPTION)),
}

export const CONSUMERS: Rule<readonly ConfiguredConsumer[]> = asGiven(listOf(object(CONFIGURED)))
export const MIGRATIONS: Rule<readonly Migrations[]> = listOf(
  having('what postgresMigrations() or mysqlMigrations() returned', 'up'),
)

const CONFIG: Table<ConsumeOnceConfig, 'close'> = {
  consumers: needed(CONSUMERS),
  migrations: or([], MIGRATIONS),
  close: func(),
}

/** Checks the config and returns it. @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function defineConfig(config: ConsumeOnceConfig): ConsumeOnceConfig {
  optionsOf('config', CONFIG, config)
  return config
}
