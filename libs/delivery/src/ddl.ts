/** Tables `delivery`, `operation` and `attempt` of one service's schema. Needs the schema's `clock_now()`. */
export const deliveryDdl = '';
