import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ConsumerInfo } from '../../api.ts'
import { address, file, whenThereIsRoom, type Failure } from '../client.ts'
import { asFailure } from '../resource.ts'
import { Problem } from './loaded.tsx'

const FORMATS = ['text', 'md', 'csv', 'json'] as const
const REPORT = 'api/replay/report'
const KEPT_FOR_MS = 60_000

/** Saves the report of a replay or a redrive as a file. */
export function Report({ consumer, id }: { consumer: ConsumerInfo; id: string }): JSX.Element {
  const [failure, fail] = useState<Failure>()
  const save = async (format: (typeof FORMATS)[number]): Promise<void> => {
    fail(undefined)
    try {
      await saveAs(await whenThereIsRoom(() => file(REPORT, { consumer: consumer.id, id, format })))
    } catch (error) {
      fail(asFailure(error))
    }
  }
  return (
    <>
      {failure !== undefined && <Problem failure={failure} />}
      <div class="row">
        <span>Report:</span>
        {FORMATS.map((format) => (
          <a
            key={format}
            href={address(REPORT, { consumer: consumer.id, id, format })}
            download=""
            // The browser would save the text of an error as the report.
            onClick={(event) => {
              event.preventDefault()
              void save(format)
            }}
          >
            {format}
          </a>
        ))}
      </div>
    </>
  )
}

async function saveAs(response: Response): Promise<void> {
  const { name = 'report' } =
    /filename="(?<name>[^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.groups ?? {}
  const url = URL.createObjectURL(await response.blob())
  Object.assign(document.createElement('a'), { href: url, download: name }).click()
  // The browser reads it some time after the click.
  setTimeout(() => URL.revokeObjectURL(url), KEPT_FOR_MS)
}
