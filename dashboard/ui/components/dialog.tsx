import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Form, type FormProps } from './form.tsx'

/** A form as a modal dialog. Esc and a click beside it close it; the focus goes back to where it was. */
export function Dialog({
  onClose,
  ...form
}: FormProps & { readonly title: string; readonly onClose: () => void }): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null)
  // Not `useEffect`, whose end comes some time after the dialog is gone: what is typed until then would be lost.
  useLayoutEffect(() => {
    const before = document.activeElement
    const dialog = ref.current
    dialog?.showModal()
    return () => {
      // While a modal dialog is open, nothing beside it takes the focus.
      dialog?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={ref}
      aria-label={form.title}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      // The browser may close it without asking. The event of our own `close()` comes when this is gone.
      onClose={() => {
        if (ref.current !== null) onClose()
      }}
      onClick={(event) => {
        if (event.target === ref.current) onClose()
      }}
    >
      <Form {...form} onCancel={onClose} />
    </dialog>
  )
}
