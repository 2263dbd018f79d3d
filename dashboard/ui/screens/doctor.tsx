import type { JSX } from 'preact'
import type { ConsumerInfo, Diagnosis } from '../../api.ts'
import { Loaded } from '../components/loaded.tsx'
import { Chip, Command, Time } from '../components/parts.tsx'
import { Head } from '../components/head.tsx'
import { Table } from '../components/table.tsx'
import { command } from '../../../src/people/command-text.ts'
import { useShared } from '../context.ts'
import { useResource } from '../resource.ts'
import type { Tone } from '../words.ts'

export const VERDICTS: Readonly<Record<Diagnosis['verdict'], readonly [Tone, string]>> = {
  holds: ['good', 'The guarantee holds'],
  weaker: ['watch', 'The guarantee is weaker than it could be'],
  broken: ['alarm', 'The guarantee does not hold'],
  unknown: ['watch', 'Not everything could be found out'],
}

export function Doctor({ consumer }: { consumer: ConsumerInfo }): JSX.Element {
  const { session } = useShared()
  const answer = useResource('api/doctor', { consumer: consumer.id }, 60_000)
  return (
    <>
      <Head title="Guarantee" about="What the live servers make of the promise" consumer={consumer} />
      <Loaded of={answer}>
        {({ diagnosis, at }) => (
          <>
            <section class="card stack">
              <header>
                <Chip tone={VERDICTS[diagnosis.verdict][0]}>{VERDICTS[diagnosis.verdict][1]}</Chip>
                <span class="small muted end">
                  asked <Time at={at} />
                </span>
              </header>
              <p class="paragraph wrap">{diagnosis.guarantee}</p>
              {diagnosis.unreachable.length > 0 && (
                <div class="notice">
                  <p>Did not answer: {diagnosis.unreachable.join(', ')}. This page asks again by itself.</p>
                </div>
              )}
              <Command text={command('doctor', consumer, session.consumers)} />
            </section>
            <section class="card">
              <Table
                class="findings"
                caption="Findings"
                rows={diagnosis.findings}
                keyOf={({ check }, index) => `${check} ${index}`}
                columns={[
                  { title: 'Check', cell: ({ check }) => <span class="mono">{check}</span> },
                  { title: 'Found', cell: ({ found }) => <span class="mono">{found}</span> },
                  { title: 'Verdict', cell: ({ verdict }) => <Chip tone={VERDICTS[verdict][0]}>{verdict}</Chip> },
                  { title: 'Consequence', cell: ({ meaning }) => <span class="wrap">{meaning}</span> },
                ]}
              />
            </section>
          </>
        )}
      </Loaded>
    </>
  )
}
