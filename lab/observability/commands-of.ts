import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { readonly alert: string; readonly annotations: { readonly first_step: string } }[]
  }[]
}

const RULES = 'observability/prometheus-alerts.yml'

/** Alerts whose first step is typed by the laboratory. */
export const WALKED = ['ConsumeOnceDeadLetters', 'ConsumeOnceLaneStuck'] as const
export type Walked = (typeof WALKED)[number]

/** The commands in the first step of an alert, as a person of consumer `sms` types them. */
export function commandsOf(alert: Walked): readonly (readonly string[])[] {
  const { groups } = parse(readFileSync(RULES, 'utf8')) as Rules
  const rule = groups.flatMap(({ rules }) => rules).find((one) => one.alert === alert)
  const typed = (rule?.annotations.first_step ?? '').replaceAll('{{ $labels.consumer }}', 'sms')
  const commands = [...typed.matchAll(/`consume-once ([^`]+)`/g)].map(([, words = '']) => words.split(' '))
  if (commands.length === 0) throw new Error(`${RULES}: expected commands in the first step of ${alert}`)
  return commands
}
