/** `host`: a name or address without a port, as in a URL. */
export function isLoopbackName(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}
