import type { ComponentChildren, JSX } from 'preact'
import { count } from '../../format.ts'
import { Bar } from './parts.tsx'

export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  readonly isNumber?: boolean
}

/** A table with a caption for screen readers. The first column heads its row. */
export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
  class: name = '',
}: {
  caption: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row, at: number) => string
  class?: string
}): JSX.Element {
  return (
    <div class="table" tabIndex={0} role="region" aria-label={caption}>
      <table class={name}>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) => (
              <th key={title} scope="col" class={isNumber === true ? 'num' : ''}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={keyOf(row, at)}>
              {columns.map(({ title, cell, isNumber }, column) =>
                column === 0 ? (
                  <th key={title} scope="row">
                    {cell(row)}
                  </th>
                ) : (
                  <td key={title} class={isNumber === true ? 'num' : ''}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export interface Share {
  readonly name: string
  readonly title: string
  readonly count: number
  /** Of the whole, or of the largest: 0 to 1. */
  readonly share: number
  /** @defaultValue that of the accents */
  readonly color?: string
}

/** How many of which, with a bar for each. */
export function Shares<Row extends Share>({
  caption,
  of,
  rows,
  more = [],
}: {
  caption: string
  /** Heads the names. */
  of: string
  rows: readonly Row[]
  more?: readonly Column<Row>[]
}): JSX.Element {
  return (
    <Table
      caption={caption}
      rows={rows}
      keyOf={({ name }) => name}
      columns={[
        { title: of, cell: ({ title }) => <span class="wrap">{title}</span> },
        { title: 'Share', cell: ({ share, color }) => <Bar share={share} of={color} /> },
        { title: 'Count', isNumber: true, cell: (row) => count(row.count) },
        ...more,
      ]}
    />
  )
}
