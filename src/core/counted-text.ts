/** `1 message`, `1,211 messages`. `things`: the plural, where it is not `thing` with an s. */
export function countedText(count: number, thing: string, things = `${thing}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? thing : things}`
}
