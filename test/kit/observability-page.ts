import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { METRICS } from '../../src/signals/metrics.ts'

export const OBSERVABILITY_PAGE = 'docs/observability.md'
const RULES = 'observability/prometheus-alerts.yml'

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string
      readonly expr: string
      readonly for?: string
      readonly labels: { readonly severity: string }
      readonly annotations: { readonly summary: string; readonly first_step: string }
    }[]
  }[]
}

/** The page with the table of metrics and that of alerts written into it. */
export function withTables(page: string): string {
  return between(between(page, 'metrics', metricsTable()), 'alerts', alertsTable())
}

function between(page: string, name: string, text: string): string {
  const pattern = new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(<!-- /${name} -->)`)
  return page.replace(pattern, (_, begin: string, end: string) => `${begin}\n${text}\n\n${end}`)
}

function metricsTable(): string {
  const rows = METRICS.map(({ name, otel, kind, unit, labels, help }) => [
    `\`${name}\``,
    `\`${otel}\``,
    unit === 's' ? `${kind}, s` : kind,
    labels.map((label) => `\`${label}\``).join(' '),
    help,
  ])
  return table(['Prometheus', 'OpenTelemetry', 'kind', 'labels', 'says'], rows)
}

function alertsTable(): string {
  const { groups } = parse(readFileSync(RULES, 'utf8')) as Rules
  const rows = groups
    .flatMap(({ rules }) => rules)
    .map(({ alert, expr, labels, annotations, for: lasts = '' }) => [
      `**${alert}** (${labels.severity})`,
      `\`${expr.replaceAll(/\s+/g, ' ').trim().replaceAll('|', '\\|')}\`${lasts === '' ? '' : ` for ${lasts}`}`,
      linked(annotations.first_step.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, '<$1>')),
    ])
  return table(['alert', 'fires when', 'first step'], rows)
}

/** A section that an alert names, such as docs/operations.md, "The backlog grows". */
function linked(text: string): string {
  return text.replaceAll(
    /docs\/(\w+\.md), "([^"]+)"/g,
    (_, page: string, heading: string) => `[${heading}](${page}#${heading.toLowerCase().replaceAll(' ', '-')})`,
  )
}

/** Padded as the formatter does it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, at) => Math.max(3, ...[head, ...rows].map((row) => (row[at] ?? title).length)))
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}
