export function element(id: string): HTMLElement {
  const found = document.querySelector<HTMLElement>(`#${id}`)
  if (found === null) throw new TypeError(`the page has no element #${id}`)
  return found
}

export function make(name: string, className = '', text = ''): HTMLElement {
  const made = document.createElement(name)
  if (className !== '') made.className = className
  made.textContent = text
  return made
}

export function button(className: string, text: string, press: () => void): HTMLElement {
  const made = make('button', className, text)
  made.setAttribute('type', 'button')
  made.addEventListener('click', press)
  return made
}

/** A message as a chip in its own colour. */
export function chip(message: string, note = '', isBad = false): HTMLElement {
  const made = make('li', `chip ${colourOf(message)}${isBad ? ' bad' : ''}`, message)
  made.dataset['message'] = message
  if (note !== '') made.append(make('span', 'note', note))
  return made
}

export function colourOf(message: string): string {
  return `colour-${Number(message.slice(1)) % 7}`
}

export function chips(items: readonly HTMLElement[]): HTMLElement {
  const list = make('ul', 'chips')
  if (items.length === 0) list.append(make('li', 'none', 'nothing'))
  else list.append(...items)
  return list
}

/** Draws the inside of a container anew. The focus stays on the element of the same name, or on the container. */
export function keepingFocus(container: HTMLElement, draw: () => void): void {
  const had = document.activeElement
  const name = had !== null && had !== container && container.contains(had) ? nameOf(had) : undefined
  draw()
  if (name === undefined || document.activeElement === had) return
  const same = [...container.querySelectorAll('button:enabled')].find((one) => nameOf(one) === name)
  ;((same as HTMLElement | undefined) ?? container).focus()
}

function nameOf(named: Element): string {
  return named.getAttribute('aria-label') ?? named.textContent ?? ''
}
