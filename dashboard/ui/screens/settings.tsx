import type { JSX } from 'preact'
import type { ConsumerInfo } from '../../api.ts'
import { Loaded } from '../components/loaded.tsx'
import { Chip } from '../components/parts.tsx'
import { Head } from '../components/head.tsx'
import { Table } from '../components/table.tsx'
import { useResource } from '../resource.ts'

export function Settings({ consumer }: { consumer: ConsumerInfo }): JSX.Element {
  const answer = useResource('api/settings', { consumer: consumer.id }, 60_000)
  return (
    <>
      <Head title="Settings" about="In force now, and where each comes from" consumer={consumer} />
      <Loaded of={answer}>
        {({ settings, migrations }) => (
          <>
            <section class="card">
              <Table
                caption={`Settings of ${consumer.name}`}
                rows={settings}
                keyOf={({ name }) => name}
                columns={[
                  { title: 'Option', cell: ({ name }) => <span class="mono">{name}</span> },
                  { title: 'Value', cell: ({ value }) => <span class="mono wrap">{value}</span> },
                  {
                    title: 'Origin',
                    cell: ({ origin }) => (
                      <span class={origin === 'given' ? '' : 'muted'}>{origin === 'given' ? 'set' : 'default'}</span>
                    ),
                  },
                  { title: 'Meaning', cell: ({ about }) => <span class="wrap muted">{about}</span> },
                ]}
              />
            </section>
            {migrations.length > 0 && (
              <section class="card">
                <header>
                  <h2>Migrations</h2>
                </header>
                <Table
                  caption="Migrations"
                  rows={migrations}
                  keyOf={({ where }) => where}
                  columns={[
                    { title: 'Where', cell: ({ where }) => <span class="wrap">{where}</span> },
                    { title: 'Run', isNumber: true, cell: ({ run }) => run.length },
                    {
                      title: 'Pending',
                      cell: ({ pending }) =>
                        pending.length === 0 ? '–' : <Chip tone="watch">{pending.join(', ')}</Chip>,
                    },
                    {
                      title: 'Drift',
                      cell: ({ drift }) => (drift.length === 0 ? '–' : <Chip tone="alarm">{drift.join(', ')}</Chip>),
                    },
                    { title: 'State', cell: ({ error }) => <span class="wrap">{error ?? 'answers'}</span> },
                  ]}
                />
              </section>
            )}
          </>
        )}
      </Loaded>
    </>
  )
}
