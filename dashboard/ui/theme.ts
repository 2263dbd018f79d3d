import { useEffect, useState } from 'preact/hooks'

export type Theme = 'light' | 'dark'

const KEPT = 'consume-once-theme'
const DARK = '(prefers-color-scheme: dark)'

/** The theme in use, and what switches it. It follows the system until a person chooses. */
export function useTheme(): readonly [Theme, () => void] {
  const [chosen, choose] = useState<Theme | undefined>(kept)
  const [system, setSystem] = useState<Theme>(systemTheme)
  useEffect(() => {
    const media = window.matchMedia(DARK)
    const changed = (): void => setSystem(systemTheme())
    media.addEventListener('change', changed)
    return () => media.removeEventListener('change', changed)
  }, [])
  const theme = chosen ?? system
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme
  }, [theme])
  return [
    theme,
    () => {
      const other = theme === 'dark' ? 'light' : 'dark'
      keep(other)
      choose(other)
    },
  ]
}

function systemTheme(): Theme {
  return window.matchMedia(DARK).matches ? 'dark' : 'light'
}

/** Storage may be forbidden. */
function kept(): Theme | undefined {
  try {
    const value = window.localStorage.getItem(KEPT)
    return value === 'light' || value === 'dark' ? value : undefined
  } catch {
    return undefined
  }
}

function keep(theme: Theme): void {
  try {
    window.localStorage.setItem(KEPT, theme)
  } catch {
    // It holds until the page is loaded again.
  }
}
