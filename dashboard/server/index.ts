// Exports for the dashboard, as `consume-once/dashboard`.

export { basicAuth, type BasicAuthOptions, type BasicAuthUser } from './basic-auth.ts'
export { dashboard, type Dashboard } from './dashboard.ts'
export {
  dashboardListener,
  serveDashboard,
  type DashboardListener,
  type ServedDashboard,
  type ServeDashboardOptions,
} from './node.ts'
export type { Auth, DashboardOptions, Principal, Redact, RedactedPart, Sender } from './options.ts'
export { trustedHeader, type TrustedHeaderOptions } from './trusted-header.ts'
