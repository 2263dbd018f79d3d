import { userInfo } from 'node:os'

/** Who decides, for the audit, if nobody says it: the user of the operating system. */
export function osUser(): string {
  try {
    return userInfo().username
  } catch {
    // A user ID without an entry, as in many containers.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
