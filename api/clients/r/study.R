# A whole study in R, by curl and jsonlite: Rscript study.R http://127.0.0.1:8080, with the token in TOKEN.  What a client
# does: asks, evaluates, tells, until the service says stop; waits when it says wait; sends a request that got lost again, which a
# named worker and a trial's number make safe.
library(curl)
library(jsonlite)

arguments <- commandArgs(trailingOnly = TRUE)
server <- if (length(arguments) > 0) arguments[[1]] else "http://127.0.0.1:8080"
attempts <- 8

# The reply: what was asked for, or a problem with its code.
call <- function(method, path, body = NULL) {
  for (attempt in seq_len(attempts)) {
    handle <- new_handle(customrequest = method)
    handle_setheaders(handle, "Authorization" = paste("Bearer", Sys.getenv("TOKEN")), "Content-Type" = "application/json")
    if (!is.null(body))
      handle_setopt(handle, postfields = toJSON(body, auto_unbox = TRUE, digits = NA))
    reply <- tryCatch(curl_fetch_memory(paste0(server, path), handle), error = function(failure) NULL)
    if (!is.null(reply) && reply$status_code < 500 && reply$status_code != 429)
      return(fromJSON(rawToChar(reply$content), simplifyVector = FALSE))
    Sys.sleep(min(2^(attempt - 1), 30))
  }
  stop(method, " ", path, ": no answer")
}

branin <- function(x, y) # 0.3979 is the optimum
  (y - 5.1 / (4 * pi^2) * x^2 + 5 / pi * x - 6)^2 + 10 * (1 - 1 / (8 * pi)) * cos(x) + 10

study <- call("PUT", "/v1/studies/by-name/branin%20in%20R", list( # made, or found
  metrics = list(list(name = "f", goal = "minimize")), budget = list(trials = 30), seed = 7,
  space = list(type = "parameters", parameters = list(
    list(name = "x", type = "double", min = -5, max = 10), list(name = "y", type = "double", min = 0, max = 15)))))
if (is.null(study$id))
  stop(study$code, ": ", study$detail)
path <- paste0("/v1/studies/", study$id)

repeat {
  reply <- call("POST", paste0(path, "/suggest"), list(worker = "in R"))
  if (length(reply$trials) > 0) {
    trial <- reply$trials[[1]]
    call("POST", paste0(path, "/observe"), list(trial = trial$number, value = branin(trial$point$x, trial$point$y)))
  } else if (identical(reply$`next`, "wait")) {
    Sys.sleep(reply$next_seconds)
  } else if (identical(reply$`next`, "stop")) {
    break
  } else {
    stop(reply$code, ": ", reply$detail)
  }
}
cat(sprintf("%.4f\n", call("GET", paste0(path, "/best"))$trial$value))
