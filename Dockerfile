# The suite with the tested versions of its dependencies, on the CPU. Three services of compose.yaml use this image.
FROM python:3.11-slim-bookworm

# Libraries that RDKit needs to draw molecules, and the tools that joblib needs to end its workers.
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

# Nothing runs as root. Everything is written to /data: the store, the cache, the site, your datasets and methods.
RUN useradd --create-home --uid 1000 churn && install -d -o 1000 /data /data/site
USER 1000
WORKDIR /data
ENV CHURN_HOME=/data CHURN_CACHE_DIR=/data/cache MPLCONFIGDIR=/tmp/matplotlib
VOLUME /data
ENTRYPOINT ["churn"]
CMD ["run", "--method", "erm,twin", "--dataset", "b3db_measured", "--site", "site"]
