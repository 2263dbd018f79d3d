// Publishes one message, and leaves its publisher open.
import { confirmedPublisher } from '../../../adapters/amqplib/index.ts'

const [url = '', routingKey = ''] = process.argv.slice(2)
await confirmedPublisher(url).publish({ routingKey, messageId: '1', body: 'only one' })
