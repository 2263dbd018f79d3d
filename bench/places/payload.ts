const BYTES = 1_024

export function payloadOf(index: number): string {
  const start = `{"notificationId":${index},"to":"+10000000000","text":"`
  return `${start.padEnd(BYTES - 2, 'x')}"}`
}
