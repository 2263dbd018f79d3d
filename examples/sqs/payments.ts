// An SQS consumer by `once()`. It works off the queue of QUEUE_URL, and ends when that is empty; without one it makes a queue and
// sends three messages itself. SQS_ENDPOINT: ElasticMQ, LocalStack, or leave it out for AWS.
import { setTimeout as delay } from 'node:timers/promises'
import { CreateQueueCommand, GetQueueAttributesCommand, SendMessageCommand } from '@aws-sdk/client-sqs'
import { Redis } from 'ioredis'
// #region readme
import { DeleteMessageCommand, ReceiveMessageCommand, SQSClient, type Message } from '@aws-sdk/client-sqs'
import { once } from 'consume-once'
import { redisLease } from 'consume-once/redis'
// #endregion

const { REDIS_URL = 'redis://127.0.0.1:6379', SQS_ENDPOINT: endpoint, PREFIX: prefix = 'sqs-example' } = process.env
const redis = new Redis(REDIS_URL)
const config =
  endpoint === undefined
    ? {}
    : { endpoint, region: 'elasticmq', credentials: { accessKeyId: 'x', secretAccessKey: 'x' } }

/** Stands for your provider. It takes an idempotency key, and keeps each of its calls. */
async function charge({ paymentId, cents }: Payment, idempotencyKey: string): Promise<void> {
  await redis.rpush(`${prefix}:calls`, `${paymentId} ${idempotencyKey}`)
  await delay(Number(process.env['ANSWER_MS'] ?? 0))
  if (cents < 0) throw new Error(`cannot charge ${cents}`)
}

const WaitTimeSeconds = Number(process.env['WAIT_SECONDS'] ?? 20)
const QueueUrl = process.env['QUEUE_URL'] ?? (await withThree())
// #region readme

interface Payment {
  readonly paymentId: string
  readonly cents: number
}

const sqs = new SQSClient(config)
const store = redisLease({ redis, prefix })

async function take({ Body = '', ReceiptHandle }: Message): Promise<void> {
  const payment = JSON.parse(Body) as Payment
  // Not MessageId: that is new for each send.
  await once(store, payment.paymentId, ({ idempotencyKey }) => charge(payment, idempotencyKey), {
    scope: 'charge-account',
    payload: Body, // another payload under this ID is refused
    handlerTimeoutMs: 20_000,
  })
  await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle })) // only now, also for a duplicate
}

async function poll(): Promise<void> {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds, MaxNumberOfMessages: 10 }),
  )
  // What fails is not deleted: SQS delivers it again after its visibility timeout, up to maxReceiveCount times.
  for (const end of await Promise.allSettled(Messages.map(take)))
    if (end.status === 'rejected') console.error(end.reason)
}
// #endregion

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

do await poll()
while ((await leftInQueue()) > 0)
console.log(await redis.lrange(`${prefix}:calls`, 0, -1))
redis.disconnect()
sqs.destroy()

async function leftInQueue(): Promise<number> {
  const AttributeNames = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'] as const
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...AttributeNames] }),
  )
  return AttributeNames.reduce((sum, name) => sum + Number(Attributes?.[name] ?? 0), 0)
}

/** The producer sends p-1 twice. */
async function withThree(): Promise<string> {
  const producer = new SQSClient(config)
  const { QueueUrl: made = '' } = await producer.send(new CreateQueueCommand({ QueueName: `payments-${Date.now()}` }))
  for (const paymentId of ['p-1', 'p-1', 'p-2']) {
    const MessageBody = JSON.stringify({ paymentId, cents: 1250 })
    await producer.send(new SendMessageCommand({ QueueUrl: made, MessageBody }))
  }
  producer.destroy()
  return made
}
