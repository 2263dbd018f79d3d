/** What to do with a function `lane` that returns a promise. */
export const LANE_AT_ONCE = 'read the lane from the message. This message has none'
