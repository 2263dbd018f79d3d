// An SQS consumer by `once()`. It works off the queue of QUEUE_URL until it is stopped. The client takes its region and credentials
// from the environment, and AWS_ENDPOINT_URL_SQS for ElasticMQ or LocalStack.
import { setTimeout as delay } from 'node:timers/promises'
// #region readme
import { DeleteMessageCommand, ReceiveMessageCommand, SQSClient, type Message } from '@aws-sdk/client-sqs'
import { once } from 'consume-once'
import { redisLease } from 'consume-once/redis'
import { Redis } from 'ioredis'

interface Payment {
  readonly paymentId: string
  readonly cents: number
}

const { QUEUE_URL: QueueUrl, AT_ONCE = 10, REDIS_URL = 'redis://127.0.0.1', PREFIX: prefix = 'payments' } = process.env
const sqs = new SQSClient()
const redis = new Redis(REDIS_URL)
const store = redisLease({ redis, prefix })

async function take({ Body = '', ReceiptHandle }: Message): Promise<void> {
  const payment = JSON.parse(Body) as Payment
  // Not MessageId: that is new for each send.
  await once(store, payment.paymentId, ({ idempotencyKey }) => charge(payment, idempotencyKey), {
    scope: 'charge-account',
    payload: Body, // another payload under this ID is refused
    handlerTimeoutMs: 20_000,
    retentionMs: 15 * 24 * 60 * 60_000, // longer than the queue keeps a message
  })
  await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle })) // only now, also for a duplicate
}

async function poll(): Promise<void> {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20, MaxNumberOfMessages: Number(AT_ONCE) }),
  )
  // What fails is not deleted: SQS delivers it again after its visibility timeout, up to maxReceiveCount times.
  for (const end of await Promise.allSettled(Messages.map(take)))
    if (end.status === 'rejected') console.error(end.reason)
}
// #endregion

/** Stands for your provider. It takes an idempotency key, and keeps each of its calls. */
async function charge({ paymentId, cents }: Payment, idempotencyKey: string): Promise<void> {
  await redis.rpush(`${prefix}:calls`, `${paymentId} ${idempotencyKey}`)
  await delay(Number(process.env['ANSWER_MS'] ?? 0))
  if (cents < 0) throw new Error(`cannot charge ${cents}`)
}

// A worker that dies between mark and delete.
if (process.env['DIES'] === 'before the delete') {
  sqs.middlewareStack.add(
    (next, { commandName }) =>
      async (call) => {
        if (commandName === 'DeleteMessageCommand') process.kill(process.pid, 'SIGKILL')
        return next(call)
      },
    { step: 'initialize' },
  )
}
// #region readme

for (;;) await poll()
// #endregion
