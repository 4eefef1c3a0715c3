# The suite with the versions that were tested, on the CPU. One image for the three services of compose.yaml.
FROM python:3.11-slim-bookworm

# What RDKit draws molecules with, and the program that joblib ends its workers with.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libexpat1 libxext6 libxrender1 procps \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /suite
COPY constraints.txt requirements.txt ./
RUN pip install --no-cache-dir --no-deps -c constraints.txt torch --index-url https://download.pytorch.org/whl/cpu \
 && pip install --no-cache-dir -c constraints.txt -r requirements.txt "psycopg[binary]"
COPY . .
RUN pip install --no-cache-dir --no-deps . && rm -rf build

# Nothing runs as root. All that is written lies in /data: the store, the cache, the site, own datasets and methods.
RUN useradd --create-home --uid 1000 churn && install -d -o 1000 /data /data/site
USER 1000
WORKDIR /data
ENV CHURN_HOME=/data CHURN_CACHE_DIR=/data/cache MPLCONFIGDIR=/tmp/matplotlib
VOLUME /data
ENTRYPOINT ["churn"]
CMD ["run", "--method", "erm,twin", "--dataset", "b3db_measured", "--site", "site"]
