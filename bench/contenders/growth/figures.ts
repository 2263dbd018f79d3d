/** CPU of the server for each message. */
export const SERVER_CPU = 'server CPU us each'
