/** Pages that were merged into others, and where they are now. Their old addresses lead there. */
export const MOVED: Readonly<Record<string, string>> = {
  bullmq: 'frameworks#bullmq',
  bundlers: 'frameworks#bundlers',
  lambda: 'frameworks#aws-lambda',
  'observe-only': 'migrate#try-it-on-live-traffic-observe-only',
  'quick-start-kafka': 'quick-start#kafka-and-postgres',
  'quick-start-rabbitmq': 'quick-start#rabbitmq-and-redis',
  sequences: 'guards#sequences',
  size: 'deploy#size',
  tokens: 'once#one-time-tokens',
  traces: 'observability#traces',
}

/** A page at an old address. It needs no script. */
export function movedPage(to: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Moved</title>
<link rel="canonical" href="./${to}">
<meta http-equiv="refresh" content="0; url=./${to}">
<p>This page is now at <a href="./${to}">${to}</a>.</p>
</html>
`
}
