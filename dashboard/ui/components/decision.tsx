import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { DecisionPreview, PreviewRequest } from '../../api.ts'
import { post, type Failure } from '../client.ts'
import { useShared } from '../context.ts'
import { count, plural } from '../../format.ts'
import { asFailure } from '../resource.ts'
import { DECISIONS } from '../words.ts'
import { Dialog } from './dialog.tsx'
import { confirmation, REASON } from './form.tsx'
import { KeyLink, StateChip, Time } from './parts.tsx'
import { Table } from './table.tsx'

const SHOWN = 8
const AGAIN_MS = 1_000

/** Preview, reason, confirm: what a decision would change, then the decision. */
export function DecisionDialog({
  request,
  onClose,
  onDone,
}: {
  request: PreviewRequest
  onClose: () => void
  onDone: () => void
}): JSX.Element {
  const { say, session } = useShared()
  const [preview, setPreview] = useState<DecisionPreview>()
  const [failure, setFailure] = useState<Failure>()
  const word = DECISIONS[request.decision]

  const look = async (): Promise<void> => {
    try {
      setPreview(await post('api/decisions/preview', request))
      setFailure(undefined)
    } catch (error) {
      setFailure(asFailure(error))
    }
  }
  useEffect(() => void look(), [])
  useEffect(() => {
    if (preview !== undefined || failure?.heals !== true) return undefined
    const timer = setTimeout(() => void look(), Math.max(AGAIN_MS, failure.retryAfterMs ?? 0))
    return () => clearTimeout(timer)
  }, [failure])

  const changing = preview?.changing ?? 0
  const hint = `Kept in the audit, with your name (${session.by}). No payload, no secret.`
  const confirm = async (reason = ''): Promise<void> => {
    if (preview === undefined) return
    setFailure(undefined)
    try {
      const { token } = preview
      const answer = await post('api/decisions', { consumer: request.consumer, token, reason, confirm: changing })
      const refused = answer.refused > 0 ? ` ${count(answer.refused)} had changed meanwhile and were left.` : ''
      say(`${word.title}: ${plural(answer.decided, 'message')} decided.${refused}`)
      onDone()
    } catch (error) {
      // A preview is good once: a new one shows what there is now.
      await look()
      throw error
    }
  }

  return (
    <Dialog
      title={word.title}
      fields={changing === 0 ? [] : [{ ...REASON, hint }, ...(changing > 1 ? [confirmation(changing)] : [])]}
      submit={`${word.title}: ${plural(changing, 'message')}`}
      isDangerous={request.decision === 'forget'}
      isOff={changing === 0}
      failure={failure}
      asksAgain={preview === undefined}
      onClose={onClose}
      onSubmit={({ reason }) => confirm(reason)}
    >
      {preview === undefined ? (
        failure === undefined && <p>Looking at what would change …</p>
      ) : (
        <Preview preview={preview} />
      )}
    </Dialog>
  )
}

function Preview({ preview }: { preview: DecisionPreview }): JSX.Element {
  const { rows, changing, already, refused, hasMore, effect } = preview
  return (
    <>
      <p>{effect}</p>
      <p>
        <strong>{plural(changing, 'message')} would change.</strong>
        {already > 0 && ` ${plural(already, 'is', 'are')} so already.`}
        {refused > 0 && ` ${count(refused)} cannot be decided like this.`}
        {hasMore && ' More match than one decision takes: decide again after this.'}
      </p>
      <Table
        caption="What would change"
        rows={rows.slice(0, SHOWN)}
        keyOf={({ key }) => key}
        columns={[
          { title: 'Key', cell: ({ key }) => <KeyLink of={key} consumer={undefined} /> },
          { title: 'State', cell: ({ state }) => <StateChip state={state} /> },
          { title: 'Since', cell: ({ since }) => (since === undefined ? '–' : <Time at={since} />) },
          { title: 'Then', cell: ({ consequence }) => <span class="wrap">{consequence}</span> },
        ]}
      />
      {rows.length > SHOWN && <p class="small muted">and {count(changing + already + refused - SHOWN)} more</p>}
    </>
  )
}
