import { definitionOf, type Consumer } from '../consumer/define-consumer.ts'
import { ConfigError } from '../foundation/errors.ts'
import { checkFunction, checkNames } from '../foundation/option-checks.ts'
import { checkSubscription } from './check-subscription.ts'
import type { Subscription } from '../ports/subscription.ts'
import type { Migrations } from '../ports/migrations.ts'

/** The configuration of the command-line tool: the default export of `consume-once.config.js`, `.mjs` or `.ts`. */
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

const CONFIG: Record<keyof ConsumeOnceConfig, true> = { consumers: true, migrations: true, close: true }
const CONFIGURED: Record<keyof ConfiguredConsumer, true> = { consumer: true, subscription: true }

/** Checks the config and returns it. @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function defineConfig(config: ConsumeOnceConfig): ConsumeOnceConfig {
  if (typeof config !== 'object' || config === null) {
    throw new ConfigError([`config: expected { consumers }, got ${config === null ? 'null' : typeof config}`])
  }
  const problems: string[] = []
  checkNames('', config, { of: 'defineConfig()', known: CONFIG }, problems)
  const { consumers, migrations = [], close } = config
  checkConsumers(consumers, 'defineConfig()', problems)
  if (!Array.isArray(migrations) || migrations.some((one) => typeof one?.up !== 'function')) {
    problems.push('migrations: expected a list of what postgresMigrations() or mysqlMigrations() returned')
  }
  if (close !== undefined) checkFunction('close', close, problems)
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `config: ${problem}`))
  return config
}

/** @param of - the function that got them. @param problems - problems are added here */
export function checkConsumers(consumers: readonly ConfiguredConsumer[], of: string, problems: string[]): void {
  if (!Array.isArray(consumers)) {
    problems.push('consumers: expected a list of { consumer, subscription }')
    return
  }
  for (const [at, entry] of consumers.entries()) checkEntry(`consumers[${at}]`, entry, of, problems)
}

function checkEntry(place: string, entry: ConfiguredConsumer, of: string, problems: string[]): void {
  if (typeof entry !== 'object' || entry === null) {
    problems.push(`${place}: expected { consumer, subscription }, got ${entry === null ? 'null' : typeof entry}`)
    return
  }
  checkNames(`${place}.`, entry, { of, known: CONFIGURED }, problems)
  try {
    definitionOf(entry.consumer)
  } catch (error) {
    if (error instanceof ConfigError) problems.push(...error.problems.map((problem) => `${place}.${problem}`))
  }
  const { group, origins } = entry.subscription ?? {}
  if (typeof group !== 'string' || !Array.isArray(origins)) {
    problems.push(
      `${place}.subscription: expected what kafkaSubscription() or rabbitSubscription() returned, or { group, origins }`,
    )
  }
  const ofSubscription: string[] = []
  if (Object.keys(entry.subscription ?? {}).length > 0) {
    checkSubscription(entry.subscription, { of, needsOrigins: true }, ofSubscription)
  }
  problems.push(...ofSubscription.map((problem) => `${place}.subscription.${problem}`))
}
